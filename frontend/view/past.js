/** The dialog of past conversations: the user searches them, goes on with one, or deletes it. */

import { ApiError, deleteConversation, getConversations, getRecordings } from "../api.js";
import { dateTime, t } from "../texts.js";
import { button, make, named, setText } from "./dom.js";

/** @typedef {{id: string, title?: string, messages: number, updated_at: number}} PastConversation */

const PAGE = 50; // conversations in one answer of the server
const TYPING_MS = 250; // without a key before the words are searched for

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const dialog = /** @type {HTMLDialogElement} */ (place);
  const parts = build(dialog);
  /** The number of the newest search: the answer to an earlier one is not shown. */
  let search = 0;
  let timer = 0;
  let oldest = 0;

  /** @param {number} [before] */
  async function load(before) {
    const asked = ++search;
    const words = parts.input.value.trim();
    try {
      const { conversations } = await getConversations({ words, ...(before ? { before } : {}) });
      if (asked !== search) return;
      if (!before) parts.list.replaceChildren();
      parts.list.append(...conversations.map((each) => entry(each)));
      oldest = conversations.at(-1)?.updated_at ?? 0;
      parts.older.hidden = conversations.length < PAGE;
      setText(parts.said, parts.list.childElementCount ? "" : t(words ? "past.not_found" : "past.none"));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(parts.said, t("past.failed"));
    }
  }

  /** @param {PastConversation} past */
  function entry(past) {
    const open = button("", "past-open");
    open.append(make("span", "past-title", past.title || t("past.untitled")), make("span", "dim", about(past)));
    open.addEventListener("click", () => void goBack(past.id));
    const remove = button(t("past.delete"), "quiet small");
    remove.setAttribute("aria-label", t("past.delete_this", { title: past.title ?? "" }));
    remove.addEventListener("click", () => void forget(past.id, item));
    const item = make("li", "");
    item.append(open, remove);
    return item;
  }

  /** @param {string} id */
  async function goBack(id) {
    try {
      await conversation.goBackTo(id);
      dialog.close();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(parts.said, t(error.status === 404 ? "past.gone" : "past.failed"));
    }
  }

  /** @param {string} id @param {HTMLElement} item */
  async function forget(id, item) {
    try {
      await deleteConversation(id);
      item.remove();
      if (conversation.client.conversation === id) conversation.startAnew();
      setText(parts.said, t("past.deleted"));
      parts.input.focus();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(parts.said, t("past.not_deleted"));
    }
  }

  parts.input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void load(), TYPING_MS);
  });
  parts.older.addEventListener("click", () => void load(oldest));
  parts.recordings.addEventListener("click", () => {
    dialog.close();
    void import("./recordings.js").then(({ openRecordings }) => openRecordings());
  });
  /** Recordings are reached from here where there are any, or may be. */
  async function offerRecordings() {
    if (!store.state.config?.extensions?.recordings) return;
    const { offered, recordings } = await getRecordings().catch(() => ({ offered: false, recordings: [] }));
    parts.recordings.hidden = !offered && !recordings.length;
  }
  return {
    opened: () => {
      void load();
      void offerRecordings();
    },
  };
}

/** @param {HTMLDialogElement} place */
function build(place) {
  const close = button(t("page.close"), "quiet small");
  close.addEventListener("click", () => place.close());
  const recordings = named(button(t("recordings.all"), "quiet small"), "open-recordings");
  recordings.hidden = true;
  const ways = make("div", "tools");
  ways.append(recordings, close);
  const head = make("div", "sheet-head");
  head.append(make("h2", "sheet-title", t("past.title")), ways);
  const input = named(make("input", ""), "past-search");
  input.type = "search";
  input.maxLength = 200;
  input.placeholder = t("past.search_hint");
  input.setAttribute("aria-label", t("past.search"));
  const said = named(make("p", "dim past-said"), "past-said");
  said.role = "status";
  const list = named(make("ul", "past-list"), "past-list");
  const older = named(button(t("past.older"), "quiet"), "past-older");
  older.hidden = true;
  place.append(head, input, said, list, older);
  return { input, said, list, older, recordings };
}

/** When it was and how long, in a few words. @param {PastConversation} past */
function about({ updated_at: at, messages }) {
  return t("past.about", { when: dateTime(at * 1000), count: messages });
}
