/** Records of lists that this version of the server cannot read, pure: how many there are of each kind, and the words for it. */

import { t } from "../texts.js";

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
  const sentences = [tasks && t("unreadable.tasks", { count: tasks }), reminders && t("unreadable.reminders", { count: reminders })];
  return sentences.filter(Boolean).join(" ");
}
