/** Where the time of each turn went, pure: the last turns, bounded. */

/** @typedef {readonly object[]} Turns */

/** @type {Turns} */
export const NO_TURNS = Object.freeze([]);

/** @param {Turns} turns @param {import("../store.js").Action} _action @returns {Turns} */
export function turnsAfter(turns, _action) {
  return turns;
}
