/** The user's background tasks on the server: loaded when a call begins, and cancelled on request. */

import { getTasks, postTaskCancel } from "./api.js";
import { requestFailure } from "./failures.js";

export class BackgroundTasks {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    store.subscribe((state, before) => {
      if (state.session && state.session !== before.session) void this.refresh();
    });
  }

  /** Load the tasks; nothing is shown where the server has none. */
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
