/** Notices, pure: what the assistant says unasked (results of tasks, reminders, decisions); newest first, bounded. */

/**
 * @typedef {{id: string, kind: string, text: string, state: "waiting" | "speaking" | "told"}} Notice
 */

export const NOTICES_LIMIT = 10;

/** @type {readonly Notice[]} */
export const NO_NOTICES = Object.freeze([]);

/**
 * @param {readonly Notice[]} notices
 * @param {import("../store.js").Action} action
 * @returns {readonly Notice[]}
 */
export function noticesAfter(notices, { type, data }) {
  if (type !== "notice") return notices;
  const index = notices.findIndex(({ id }) => id === data.id);
  const old = notices[index];
  const notice = { id: data.id, kind: data.kind ?? old?.kind ?? "note", text: data.text ?? old?.text ?? "", state: data.state };
  return index >= 0 ? notices.with(index, notice) : [notice, ...notices].slice(0, NOTICES_LIMIT);
}
