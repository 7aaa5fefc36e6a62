/**
 * What happens to the user outside of calls: an event stream while no call is under way, and the reminders it brings.
 *
 * A reminder counts as delivered once it stands before the user's eyes: a tab in the background shows it, too, but says
 * so only when it is looked at.
 */

import { ApiError, deleteReminder, getReminders, postSeen } from "./api.js";
import { requestFailure } from "./failures.js";

const TYPES = ["notice", "decision", "task", "reminder", "user_context"];
const WITHOUT_A_CALL = new Set(["ready", "ended"]);
const RETRY_MS = 15_000;

export class News {
  /** @type {EventSource | null} */
  #source = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** Notices that were shown and not yet looked at. @type {Set<string>} */
  #unseen = new Set();

  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    store.subscribe((state, before) => {
      if (state.phase !== before.phase) this.#follow();
      if (before.reminders && state.reminders.news !== before.reminders.news) void this.refresh();
    });
    document.addEventListener("visibilitychange", () => this.#look());
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", (event) => event.persisted && this.#follow());
  }

  /** The reminders that are set. A server without any has none to show. */
  async refresh() {
    const answer = await getReminders().catch(() => null);
    if (answer) this.store.dispatch("page_reminders_loaded", answer);
  }

  /** Call a reminder off. @param {string} id */
  async cancel(id) {
    try {
      await deleteReminder(id);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) {
        this.store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
      }
    }
    await this.refresh();
  }

  /** Be told what happens, unless a call tells it. */
  #follow() {
    if (!WITHOUT_A_CALL.has(this.store.state.phase)) return this.#close();
    if (this.#source) return;
    const source = new EventSource("/api/me/events");
    this.#source = source;
    source.addEventListener("open", () => void this.refresh());
    for (const type of TYPES) source.addEventListener(type, (event) => this.#told(type, JSON.parse(event.data)));
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && this.#later());
  }

  /** The server has no stream for us, just now. */
  #later() {
    this.#close();
    this.#retry = setTimeout(() => this.#follow(), RETRY_MS);
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  /** @param {string} type @param {any} data */
  #told(type, data) {
    this.store.dispatch(type, data);
    if (type !== "notice" || data.kind !== "reminder" || data.state !== "waiting") return;
    this.store.dispatch("page_reminder_due", { id: data.id, text: data.text.replace(/^A reminder: /, "") });
    this.#unseen.add(data.id);
    this.#look();
  }

  /** Say what the user has before their eyes. */
  #look() {
    if (document.visibilityState !== "visible") return;
    for (const id of this.#unseen) {
      this.#unseen.delete(id);
      void this.#saw(id);
    }
  }

  /** Should this fail, the reminder comes again. @param {string} id */
  async #saw(id) {
    const answer = await postSeen(id).catch(() => null);
    if (answer) this.store.dispatch("notice", { id, kind: "reminder", state: "told" });
  }
}
