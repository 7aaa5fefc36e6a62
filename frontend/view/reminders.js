/** Reminders: those that are due stand on top until dismissed; those that are set stand beside the conversation. */

import { dateTime, t } from "../texts.js";
import { follow, make, part, setText } from "./dom.js";

/** @typedef {import("../state/reminders.js").DueReminder} DueReminder */
/** @typedef {import("../state/reminders.js").SetReminder} SetReminder */

/**
 * @param {import("../store.js").Store} store
 * @param {(id: string) => void} cancel
 */
export function showReminders(store, cancel) {
  const [due, set] = [part("reminders-due"), part("reminders-set")];
  const shownDue = new Map();
  const shownSet = new Map();
  const done = (/** @type {string} */ id) => store.dispatch("page_reminder_done", { id });
  store.subscribe((state, before) => {
    if (state.reminders === before.reminders) return;
    due.hidden = !state.reminders.due.length;
    follow(due, shownDue, state.reminders.due, ({ id }) => id, () => createDue(done), updateDue);
    follow(set, shownSet, state.reminders.set, ({ id }) => id, () => createSet(cancel), updateSet);
  });
}

/** @param {(id: string) => void} done */
function createDue(done) {
  const box = make("div", "reminder");
  box.dataset.testid = "reminder-due";
  const words = make("p", "");
  words.append(make("strong", "", t("reminder.one")), make("span", "reminder-text"));
  const button = make("button", "quiet", t("reminder.done"));
  button.type = "button";
  button.dataset.testid = "reminder-done";
  button.addEventListener("click", () => done(box.dataset.notice ?? ""));
  box.append(words, button);
  return box;
}

/** @param {HTMLElement} box @param {DueReminder} reminder */
function updateDue(box, { id, text }) {
  box.dataset.notice = id;
  setText(box.children[0].children[1], text);
  box.children[1].ariaLabel = t("reminder.done_this", { reminder: text });
}

/** @param {(id: string) => void} cancel */
function createSet(cancel) {
  const item = make("li", "notice-item reminder-set");
  item.dataset.testid = "reminder-set";
  const button = make("button", "quiet small notice-state", t("reminder.cancel"));
  button.type = "button";
  button.dataset.testid = "reminder-cancel";
  button.addEventListener("click", () => cancel(item.dataset.reminder ?? ""));
  item.append(make("span", "notice-kind"), make("span", "notice-text"), button);
  return item;
}

/** @param {HTMLElement} item @param {SetReminder} reminder */
function updateSet(item, { id, text, at, repeat }) {
  item.dataset.reminder = id;
  setText(item.children[0], t(repeat === "none" ? "reminder.when" : "reminder.repeats", { when: dateTime(new Date(at)) }));
  setText(item.children[1], text);
  item.children[2].ariaLabel = t("reminder.cancel_this", { reminder: text });
}
