/** What the connection and the server's ears measure, pure: short histories, bounded. */

/** @typedef {object} Stats */

/** @type {Stats} */
export const NO_STATS = Object.freeze({});

/** @param {Stats} stats @param {import("../store.js").Action} _action @returns {Stats} */
export function statsAfter(stats, _action) {
  return stats;
}
