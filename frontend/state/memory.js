/** What is known of the user, as far as the page has asked. */

/** @typedef {object} UserMemory */

/** @type {UserMemory} */
export const NOTHING_KNOWN = Object.freeze({});

/** @param {UserMemory} memory @param {import("../store.js").Action} _action @returns {UserMemory} */
export function memoryAfter(memory, _action) {
  return memory;
}
