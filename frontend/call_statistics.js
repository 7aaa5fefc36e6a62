/** The measurements of the developer's drawer, taken only while it is open: the connection and the server's speech scores. */

import { countersOf, networkBetween } from "./state/stats.js";

const EVERY_MS = 1_000;

export class CallStatistics {
  /** @param {import("./store.js").Store} store @param {import("./conversation.js").Conversation} conversation */
  constructor(store, conversation) {
    this.store = store;
    this.conversation = conversation;
    /** @type {import("./state/stats.js").Counters | null} */
    this.before = null;
    /** @type {EventSource | null} */
    this.levels = null;
    this.sessionId = "";
    this.open = false;
    store.subscribe((state, before) => {
      if (this.open && (state.session !== before.session || state.phase !== before.phase)) this.#subscribe();
    });
  }

  begin() {
    this.open = true;
    this.before = null;
    clearInterval(this.timer);
    this.timer = setInterval(() => void this.#measure(), EVERY_MS);
    this.#subscribe();
  }

  end() {
    this.open = false;
    clearInterval(this.timer);
    this.#unsubscribe();
  }

  async #measure() {
    const report = await this.conversation.statistics();
    if (!report || !this.open) return void (this.before = null);
    const now = countersOf(report.values());
    if (this.before) this.store.dispatch("page_network", networkBetween(now, this.before));
    this.before = now;
  }

  /** Receive the speech scores of the call under way, if there is one. */
  #subscribe() {
    const { phase, session } = this.store.state;
    const id = session && (phase === "connected" || phase === "shaky") ? session.session_id : "";
    if (id === this.sessionId) return;
    this.#unsubscribe();
    if (!id) return;
    this.sessionId = id;
    const source = new EventSource(`/api/events/${encodeURIComponent(id)}/levels`);
    source.addEventListener("levels", (event) => this.store.dispatch("page_levels", JSON.parse(event.data)));
    this.levels = source;
  }

  #unsubscribe() {
    this.levels?.close();
    this.levels = null;
    this.sessionId = "";
  }
}
