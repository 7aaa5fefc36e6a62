/** Asks the server, until there is nothing left, which parts of the local Responder it still loads. */

import { getConfig } from "./api.js";

const ASK_EVERY_MS = 1_000;

/** @param {import("./store.js").Store} store */
export async function followWarmUp(store) {
  while (store.state.config?.loading?.length) {
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    try {
      const { loading = [] } = await getConfig();
      store.dispatch("page_loading_changed", { loading });
    } catch {
      // the next question may be answered
    }
  }
}
