/**
 * The user's events outside of calls: an event stream while no call is under way, the reminders it brings, and what
 * the user is asked to agree to.
 *
 * A reminder counts as delivered once the user sees it: a tab in the background shows it, too, but reports it only
 * when it becomes visible.
 */

import { ApiError, deleteReminder, getConfirmations, getReminders, postConfirmation, postSeen } from "./api.js";
import { requestFailure } from "./failures.js";

const TYPES = ["notice", "decision", "task", "reminder", "user_context", "confirmation.asked", "confirmation.answered"];
const WITHOUT_A_CALL = new Set(["ready", "ended"]);
const RETRY_MS = 15_000;

export class UserEvents {
  /** @type {EventSource | null} */
  #source = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** Notices that were shown while the tab was hidden. @type {Set<string>} */
  #unseen = new Set();

  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    store.subscribe((state, before) => {
      if (state.phase !== before.phase) this.#subscribe();
      if (before.reminders && state.reminders.changes !== before.reminders.changes) void this.refresh();
    });
    document.addEventListener("visibilitychange", () => this.#reportSeen());
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", (event) => event.persisted && this.#subscribe());
  }

  /** Load the reminders that are set; nothing is shown where the server has no reminders. */
  async refresh() {
    const answer = await getReminders().catch(() => null);
    if (answer) this.store.dispatch("page_reminders_loaded", answer);
    const asked = await getConfirmations().catch(() => null);
    if (asked) this.store.dispatch("page_confirmations_loaded", asked);
  }

  /** Answer what the user is asked to agree to. Resolves to whether it is agreed to. @param {string} id @param {boolean} agreed */
  async answer(id, agreed) {
    try {
      await postConfirmation(id, agreed);
      return agreed;
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) {
        this.store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
      }
      return false;
    } finally {
      this.store.dispatch("confirmation.answered", { id });
    }
  }

  /** Cancel a reminder. @param {string} id */
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

  /** Receive the user's events, unless a call's own stream brings them. */
  #subscribe() {
    if (!WITHOUT_A_CALL.has(this.store.state.phase)) return this.#close();
    if (this.#source) return;
    const source = new EventSource("/api/me/events");
    this.#source = source;
    source.addEventListener("open", () => void this.refresh());
    for (const type of TYPES) source.addEventListener(type, (event) => this.#receive(type, JSON.parse(event.data)));
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && this.#retryLater());
  }

  /** The server refused the stream for now. */
  #retryLater() {
    this.#close();
    this.#retry = setTimeout(() => this.#subscribe(), RETRY_MS);
  }

  #close() {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
  }

  /** @param {string} type @param {any} data */
  #receive(type, data) {
    this.store.dispatch(type, data);
    if (type !== "notice" || data.kind !== "reminder" || data.state !== "waiting") return;
    this.store.dispatch("page_reminder_due", { id: data.id, text: data.text.replace(/^A reminder: /, "") });
    this.#unseen.add(data.id);
    this.#reportSeen();
  }

  /** Report the notices that the user sees. */
  #reportSeen() {
    if (document.visibilityState !== "visible") return;
    for (const id of this.#unseen) {
      this.#unseen.delete(id);
      void this.#confirmSeen(id);
    }
  }

  /** If this fails, the server delivers the reminder again. @param {string} id */
  async #confirmSeen(id) {
    const answer = await postSeen(id).catch(() => null);
    if (answer) this.store.dispatch("notice", { id, kind: "reminder", state: "told" });
  }
}
