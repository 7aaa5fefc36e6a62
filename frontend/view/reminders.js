/** Reminders: those that are due, on top until they are put away; those that are set, beside the conversation. */

import { follow, make, part, setText } from "./dom.js";

/** @typedef {import("../state/reminders.js").DueReminder} DueReminder */
/** @typedef {import("../state/reminders.js").SetReminder} SetReminder */

const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

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
  words.append(make("strong", "", "Reminder"), make("span", "reminder-text"));
  const button = make("button", "quiet", "Done");
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
  box.children[1].ariaLabel = `Done: ${text}`;
}

/** @param {(id: string) => void} cancel */
function createSet(cancel) {
  const line = make("li", "told reminder-set");
  line.dataset.testid = "reminder-set";
  const button = make("button", "quiet small told-state", "Cancel");
  button.type = "button";
  button.dataset.testid = "reminder-cancel";
  button.addEventListener("click", () => cancel(line.dataset.reminder ?? ""));
  line.append(make("span", "told-kind"), make("span", "told-text"), button);
  return line;
}

/** @param {HTMLElement} line @param {SetReminder} reminder */
function updateSet(line, { id, text, at, repeat }) {
  line.dataset.reminder = id;
  setText(line.children[0], `Reminder · ${WHEN.format(new Date(at))}${repeat === "none" ? "" : " · repeats"}`);
  setText(line.children[1], text);
  line.children[2].ariaLabel = `Cancel: ${text}`;
}
