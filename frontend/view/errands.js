/** What goes on beyond the turn: background tasks with their progress, and what is waiting to be told. */

import { isOpen } from "../state/tasks.js";
import { follow, make, part, setText } from "./dom.js";
import { citationLinks, sourceBadge } from "./sources.js";

/** @type {Record<import("../state/tasks.js").TaskState, string>} */
const TASK_WORDS = {
  queued: "Waiting",
  running: "At work",
  retrying: "Trying again soon",
  done: "Done",
  failed: "Failed",
  canceled: "Cancelled",
};
/** @type {Record<string, string>} */
const NOTICE_WORDS = { waiting: "Waiting to be told", speaking: "Being told", told: "Told" };
/** @type {Record<string, string>} */
const KIND_WORDS = { result: "Result", decision: "Decision", reminder: "Reminder", note: "Note" };

/** @typedef {import("../state/tasks.js").Task} Task */

/**
 * @param {import("../store.js").Store} store
 * @param {(id: string) => void} cancel
 */
export function showErrands(store, cancel) {
  const section = part("errands");
  const [tasks, notices] = [part("tasks"), part("notices")];
  const shownTasks = new Map();
  const shownNotices = new Map();
  store.subscribe((state, before) => {
    if (state.tasks === before.tasks && state.notices === before.notices && state.reminders === before.reminders) return;
    section.hidden = !state.tasks.length && !state.notices.length && !state.reminders.set.length;
    follow(tasks, shownTasks, state.tasks, ({ id }) => id, () => createTask(cancel), updateTask);
    follow(notices, shownNotices, state.notices, ({ id }) => id, createNotice, updateNotice);
  });
}

/** @param {(id: string) => void} cancel */
function createTask(cancel) {
  const card = make("li", "thinker task");
  card.dataset.testid = "task";
  const head = make("div", "thinker-head");
  head.append(make("strong", "thinker-label"), make("span", "thinker-state"));
  const button = make("button", "quiet small thinker-ask", "Cancel");
  button.type = "button";
  button.dataset.testid = "task-cancel";
  button.addEventListener("click", () => cancel(card.dataset.task ?? ""));
  const foot = make("div", "thinker-foot");
  foot.append(make("span", "thinker-sources"), button);
  card.append(head, make("p", "thinker-query"), make("p", "thinker-detail"), foot);
  return card;
}

/** @param {HTMLElement} card @param {Task} task */
function updateTask(card, task) {
  const [head, query, detail, foot] = card.children;
  const [sources, button] = foot.children;
  card.className = `thinker task ${{ running: "working", retrying: "routed", done: "complete", failed: "failed" }[String(task.state)] ?? task.state}`;
  card.dataset.task = task.id;
  card.dataset.state = task.state;
  setText(head.children[0], task.kind);
  setText(head.children[1], TASK_WORDS[task.state] ?? task.state);
  setText(query, task.instruction);
  setText(detail, isOpen(task) ? task.error || task.progress : task.error || task.result);
  sources.replaceChildren(...(task.source ? [sourceBadge(task.source)] : []), ...citationLinks(task.citations));
  const ask = /** @type {HTMLButtonElement} */ (button);
  ask.hidden = !isOpen(task);
  ask.disabled = task.cancelling;
  ask.ariaLabel = `Cancel: ${task.instruction}`;
}

function createNotice() {
  const line = make("li", "told");
  line.dataset.testid = "told";
  line.append(make("strong", "told-kind"), make("span", "told-text"), make("span", "told-state"));
  return line;
}

/** @param {HTMLElement} line @param {import("../state/notices.js").Notice} notice */
function updateNotice(line, { kind, text, state }) {
  line.dataset.state = state;
  setText(line.children[0], KIND_WORDS[kind] ?? kind);
  setText(line.children[1], kind === "reminder" ? text.replace(/^A reminder: /, "") : text);
  setText(line.children[2], NOTICE_WORDS[state] ?? state);
}
