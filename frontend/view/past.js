/** The dialog of past conversations: the user searches them, goes on with one, or deletes it. */

import { ApiError, deleteConversation, getConversations } from "../api.js";
import { button, make, named, setText } from "./dom.js";

/** @typedef {{id: string, title?: string, messages: number, updated_at: number}} PastConversation */

const PAGE = 50; // conversations in one answer of the server
const TYPING_MS = 250; // without a key before the words are searched for
const FAILED = "The conversations could not be loaded. Try again in a moment.";
const NOT_DELETED = "It could not be deleted yet. Try again in a moment.";

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { conversation }) {
  const dialog = /** @type {HTMLDialogElement} */ (place);
  const parts = build(dialog);
  /** The search whose answer is shown; the answer to an earlier one is not. */
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
      setText(parts.said, parts.list.childElementCount ? "" : words ? "Nothing was said with these words." : "None yet.");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(parts.said, FAILED);
    }
  }

  /** @param {PastConversation} past */
  function entry(past) {
    const open = button("", "past-open");
    open.append(make("span", "past-title", past.title || "Without words"), make("span", "dim", about(past)));
    open.addEventListener("click", () => void goBack(past.id));
    const remove = button("Delete", "quiet small");
    remove.setAttribute("aria-label", `Delete “${past.title ?? ""}”`);
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
      setText(parts.said, error.status === 404 ? "This conversation is not kept any more." : FAILED);
    }
  }

  /** @param {string} id @param {HTMLElement} item */
  async function forget(id, item) {
    try {
      await deleteConversation(id);
      item.remove();
      if (conversation.client.conversation === id) conversation.startAnew();
      setText(parts.said, "Deleted.");
      parts.input.focus();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(parts.said, NOT_DELETED);
    }
  }

  parts.input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => void load(), TYPING_MS);
  });
  parts.older.addEventListener("click", () => void load(oldest));
  return { opened: () => void load() };
}

/** @param {HTMLDialogElement} place */
function build(place) {
  const close = button("Close", "quiet small");
  close.addEventListener("click", () => place.close());
  const head = make("div", "sheet-head");
  head.append(make("h2", "sheet-title", "Your conversations"), close);
  const input = named(make("input", ""), "past-search");
  input.type = "search";
  input.maxLength = 200;
  input.placeholder = "Words that were said";
  input.setAttribute("aria-label", "Search your conversations");
  const said = named(make("p", "dim past-said"), "past-said");
  said.role = "status";
  const list = named(make("ul", "past-list"), "past-list");
  const older = named(button("Older", "quiet"), "past-older");
  older.hidden = true;
  place.append(head, input, said, list, older);
  return { input, said, list, older };
}

/** When it was and how long, in a few words. @param {PastConversation} past */
function about({ updated_at: at, messages }) {
  const when = new Date(at * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return `${when} · ${messages} ${messages === 1 ? "message" : "messages"}`;
}
