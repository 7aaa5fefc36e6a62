/** Reminders, pure: those that are due and shown until the user dismisses them, and those that are set. */

/**
 * @typedef {{id: string, text: string}} DueReminder id: of its notice
 * @typedef {{id: string, text: string, at: string, repeat: string, state: "set" | "due"}} SetReminder
 * @typedef {object} Reminders
 * @property {readonly DueReminder[]} due newest first
 * @property {readonly SetReminder[]} set the next one first
 * @property {number} changes how often the server reported a change: reason to load them again
 */

export const DUE_LIMIT = 5;
export const SET_LIMIT = 20;

/** @type {Reminders} */
export const NO_REMINDERS = Object.freeze({ due: Object.freeze([]), set: Object.freeze([]), changes: 0 });

/**
 * @param {Reminders} reminders
 * @param {import("../store.js").Action} action
 * @returns {Reminders}
 */
export function remindersAfter(reminders, { type, data }) {
  switch (type) {
    case "reminder":
      return { ...reminders, changes: reminders.changes + 1 };
    case "page_reminder_due":
      return { ...reminders, due: [data, ...reminders.due.filter(({ id }) => id !== data.id)].slice(0, DUE_LIMIT) };
    case "page_reminder_done":
      return { ...reminders, due: reminders.due.filter(({ id }) => id !== data.id) };
    case "page_reminders_loaded":
      return { ...reminders, set: data.notifications.slice(0, SET_LIMIT) };
    default:
      return reminders;
  }
}
