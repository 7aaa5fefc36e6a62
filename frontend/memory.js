/** What the page asks the server to know, change and forget of its user. Tells the store what came of it. */

import { ApiError, deleteMe, getMe, patchMe } from "./api.js";

export class Memory {
  /** @param {import("./store.js").Store} store @param {() => void} onErased */
  constructor(store, onErased) {
    this.store = store;
    this.onErased = onErased;
    /** One request after the other: two edits in a row must not overtake each other. @type {Promise<boolean>} */
    this.last = Promise.resolve(true);
    /** A reading is queued, which will find whatever has changed until it begins. */
    this.renewing = false;
  }

  /** Read what is known. */
  refresh() {
    return this.#ask(getMe);
  }

  /** It has changed elsewhere: read it anew, and say nothing when that does not work, for nobody asked. */
  renew() {
    if (this.renewing) return this.last;
    this.renewing = true;
    this.last = this.last.then(async () => {
      this.renewing = false;
      const known = await getMe().catch(() => null);
      if (known) this.store.dispatch("page_memory_renewed", { known });
      return Boolean(known);
    });
    return this.last;
  }

  /** @param {readonly Record<string, any>[]} changes @param {string} said what to tell when it is done */
  change(changes, said) {
    return this.#ask(() => patchMe(changes), said);
  }

  /** Have everything forgotten. Resolves to whether it was. */
  erase() {
    return this.#ask(async () => {
      await deleteMe();
      this.onErased();
      return getMe();
    }, "Everything known of you was erased.");
  }

  /** @param {() => Promise<import("./state/memory.js").Known>} request @param {string} [said] @returns {Promise<boolean>} */
  #ask(request, said = "") {
    this.last = this.last.then(async () => {
      this.store.dispatch("page_memory_asked");
      try {
        this.store.dispatch("page_memory_told", { known: await request(), said });
        return true;
      } catch (error) {
        this.store.dispatch("page_memory_failed", { said: inWords(error) });
        return false;
      }
    });
    return this.last;
  }
}

/** @param {unknown} error */
function inWords(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 0) return "The server does not answer. Try again in a moment.";
  return `${error.message} ${error.hint}`.trim();
}
