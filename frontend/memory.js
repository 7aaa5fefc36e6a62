/** Requests to read, change and erase what the server knows about the user. The store receives the outcome. */

import { ApiError, deleteMe, getMe, patchMe } from "./api.js";
import { saysAsServer, t } from "./texts.js";

/** @type {WeakMap<import("./store.js").Store, Memory>} */
const MEMORIES = new WeakMap();

/** The one memory of a page: its requests wait for one another, so no answer is older than the one before. @param {import("./store.js").Store} store */
export function memoryOf(store) {
  const memory = MEMORIES.get(store) ?? new Memory(store);
  MEMORIES.set(store, memory);
  return memory;
}

/** See `memoryOf`. */
export class Memory {
  /** @param {import("./store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** One request after the other: two edits in a row must not overtake each other. @type {Promise<boolean>} */
    this.last = Promise.resolve(true);
    /** A reload is queued, which will include every change made before it begins. */
    this.renewing = false;
  }

  /** Load what is known. */
  refresh() {
    return this.#ask(getMe);
  }

  /** Load it again after a change elsewhere. A failure is not shown, since no user asked for it. */
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

  /** @param {readonly Record<string, any>[]} changes @param {string} said the words shown when it is done */
  change(changes, said) {
    return this.#ask(() => patchMe(changes), said);
  }

  /** Have everything forgotten. Resolves to whether it was. @param {() => void} onErased */
  erase(onErased) {
    return this.#ask(async () => {
      await deleteMe();
      onErased();
      return getMe();
    }, t("memory.erased"));
  }

  /** @param {() => Promise<import("./state/memory.js").Known>} request @param {string} [said] @returns {Promise<boolean>} */
  #ask(request, said = "") {
    this.last = this.last.then(async () => {
      this.store.dispatch("page_memory_asked");
      try {
        this.store.dispatch("page_memory_loaded", { known: await request(), said });
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
  if (error.status === 0) return t("memory.unreachable");
  return saysAsServer(`${error.message} ${error.hint}`.trim()) || [t("failure.server_error"), t("failure.server_error.hint")].join(" ");
}
