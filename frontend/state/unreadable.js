/** Records of lists that this version of the server cannot read, pure: how many there are of each kind, and the words for it. */

/** @typedef {{tasks: number, reminders: number}} Unreadable */

/** @type {Unreadable} */
export const ALL_READABLE = Object.freeze({ tasks: 0, reminders: 0 });

/** @param {Unreadable} unreadable @param {import("../store.js").Action} action @returns {Unreadable} */
export function unreadableAfter(unreadable, { type, data }) {
  switch (type) {
    case "page_tasks_loaded":
      return { ...unreadable, tasks: data.unreadable ?? 0 };
    case "page_reminders_loaded":
      return { ...unreadable, reminders: data.unreadable ?? 0 };
    default:
      return unreadable;
  }
}

/** A sentence for each list that lacks something. @param {Unreadable} unreadable */
export function unreadableWords({ tasks, reminders }) {
  return [wordsFor(tasks, "task"), wordsFor(reminders, "reminder")].filter(Boolean).join(" ");
}

/** @param {number} count @param {string} kind */
function wordsFor(count, kind) {
  if (!count) return "";
  if (count === 1) return `One ${kind} cannot be shown: it was written by a newer version of the server.`;
  return `${count} ${kind}s cannot be shown: they were written by a newer version of the server.`;
}
