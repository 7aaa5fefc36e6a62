/** Sharing what was said: a public link that works for some days, and all of the user's links, to revoke them. */

import { ApiError, deleteLink, getLinks, postLink } from "../api.js";
import { dateTime, saysAsServer, t } from "../texts.js";
import { button, icon, make, named, part, setText } from "./dom.js";

/** @typedef {{id: string, conversation_id: string, path: string, shared_at: number, expires_at: number}} Link */

/** The days a link may be made for, as far as the server allows. */
const DAYS = [1, 7, 30];
const DONE_MS = 1_800;

/**
 * The button beside the conversation, where the server lets its users share.
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function showSharing(store, conversation) {
  const open = named(button("", "tool"), "share");
  open.append(icon("share"), make("span", "label", t("share.open")));
  part("copy").before(open);
  /** @type {Sharing | null} */
  let dialog = null;
  open.addEventListener("click", () => {
    dialog ??= new Sharing();
    dialog.open(conversation.client.conversation ?? "");
  });
  store.subscribe(({ config, transcript }) => {
    open.hidden = !(config?.extensions?.sharing && transcript.entries.length && conversation.client.conversation);
  });
}

class Sharing {
  #conversation = "";

  constructor() {
    this.place = named(make("dialog", "sheet sharing"), "sharing");
    this.place.ariaLabel = t("share.title");
    const close = named(button(t("page.close"), "quiet small"), "share-close");
    close.addEventListener("click", () => this.place.close());
    const head = make("div", "sheet-head");
    head.append(make("h2", "sheet-title", t("share.title")), close);
    this.days = named(make("select", ""), "share-days");
    const field = make("label", "field");
    field.append(make("span", "", t("share.days")), this.days);
    const create = named(button(t("share.create"), "primary"), "share-create");
    create.addEventListener("click", () => void this.#create());
    const row = make("div", "share-new");
    row.append(field, create);
    this.said = named(make("p", "past-said"), "share-said");
    this.said.role = "status";
    this.list = named(make("ul", "share-list"), "share-list");
    this.list.ariaLabel = t("share.links");
    this.place.append(head, make("p", "", t("share.means")), row, this.said, this.list);
    document.body.append(this.place);
  }

  /** @param {string} conversation */
  open(conversation) {
    this.#conversation = conversation;
    setText(this.said, "");
    this.list.replaceChildren();
    this.place.showModal();
    void this.#load();
  }

  async #load() {
    const answer = await this.#answer(getLinks());
    if (!answer) return;
    if (!this.days.childElementCount) {
      const allowed = DAYS.filter((each) => each <= answer.days);
      const offered = allowed.length ? allowed : [answer.days];
      const usual = offered.includes(7) ? 7 : offered[0];
      this.days.append(...offered.map((each) => new Option(t("share.for_days", { count: each }), String(each), each === usual, each === usual)));
    }
    this.list.replaceChildren(...answer.links.map((each) => this.#entry(each)));
  }

  async #create() {
    const link = await this.#answer(postLink(this.#conversation, Number(this.days.value)));
    if (!link) return;
    const entry = this.#entry(link);
    this.list.prepend(entry);
    setText(this.said, t("share.created"));
    /** @type {HTMLElement} */ (entry.querySelector("button")).focus();
  }

  /** @param {Link} link */
  #entry({ id, conversation_id: of, path, expires_at: until }) {
    const address = new URL(path, location.origin).href;
    const open = named(make("a", "share-link", address), "share-link");
    open.href = address;
    open.target = "_blank";
    open.rel = "noopener noreferrer";
    const about = [of === this.#conversation ? t("share.this") : t("share.other"), t("share.until", { when: dateTime(until * 1000) })].join(" · ");
    const copy = named(button(t("talk.copy"), "quiet small"), "share-copy");
    copy.addEventListener("click", () => void copied(copy, address));
    const revoke = named(button(t("share.revoke"), "quiet small danger"), "share-revoke");
    revoke.addEventListener("click", () => void this.#revoke(id, item));
    const ways = make("div", "memory-foot");
    ways.append(copy, revoke);
    const item = make("li", "");
    item.append(open, make("span", "dim", about), ways);
    return item;
  }

  /** @param {string} id @param {HTMLElement} item */
  async #revoke(id, item) {
    const done = await this.#answer(deleteLink(id).catch((error) => (error instanceof ApiError && error.status === 404 ? {} : Promise.reject(error))));
    if (!done) return;
    item.remove();
    setText(this.said, t("share.revoked"));
    this.days.focus();
  }

  /** What the server answers, or null: then the user sees why. @template T @param {Promise<T>} asked @returns {Promise<T | null>} */
  async #answer(asked) {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const why = error.status === 422 ? saysAsServer([error.message, error.hint].join(" ")) : "";
      setText(this.said, error.status === 404 ? t("past.gone") : why || t("share.failed"));
      return null;
    }
  }
}

/** @param {HTMLElement} button @param {string} text */
async function copied(button, text) {
  const worked = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  setText(button, t(worked ? "talk.copied" : "talk.not_copied"));
  setTimeout(() => setText(button, t("talk.copy")), DONE_MS);
}
