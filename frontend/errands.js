/** Background tasks, asked of the server: what there is when a call begins, and the end of one that is not wanted. */

import { getTasks, postTaskCancel } from "./api.js";
import { requestFailure } from "./failures.js";

export class Errands {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    store.subscribe((state, before) => {
      if (state.session && state.session !== before.session) void this.refresh();
    });
  }

  /** A server without tasks has none to show. */
  async refresh() {
    const answer = await getTasks().catch(() => null);
    if (answer) this.store.dispatch("page_tasks_loaded", answer);
  }

  /** @param {string} id */
  async cancel(id) {
    this.store.dispatch("page_task_cancelling", { id, cancelling: true });
    try {
      await postTaskCancel(id);
    } catch (error) {
      this.store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
    }
    await this.refresh();
  }
}
