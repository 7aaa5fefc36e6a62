/** Work beyond the turn: background tasks with their progress, and notices with their state. */

import { isOpen } from "../state/tasks.js";
import { unreadableWords } from "../state/unreadable.js";
import { t, tOf } from "../texts.js";
import { follow, make, part, setText } from "./dom.js";
import { citationLinks, sourceBadge } from "./sources.js";

const PARTS = /** @type {const} */ (["tasks", "notices", "reminders", "unreadable"]);

/** @typedef {import("../state/tasks.js").Task} Task */

/**
 * @param {import("../store.js").Store} store
 * @param {(id: string) => void} cancel
 */
export function showBackground(store, cancel) {
  const section = part("background");
  const [tasks, notices, unreadable] = [part("tasks"), part("notices"), part("unreadable")];
  const shownTasks = new Map();
  const shownNotices = new Map();
  store.subscribe((state, before) => {
    if (PARTS.every((each) => state[each] === before[each])) return;
    const missing = unreadableWords(state.unreadable);
    section.hidden = !state.tasks.length && !state.notices.length && !state.reminders.set.length && !missing;
    unreadable.hidden = !missing;
    setText(unreadable, missing);
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
  const button = make("button", "quiet small thinker-ask", t("task.cancel"));
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
  setText(head.children[1], tOf("task", task.state));
  setText(query, task.instruction);
  setText(detail, isOpen(task) ? task.error || task.progress : task.error || task.result);
  sources.replaceChildren(...(task.source ? [sourceBadge(task.source)] : []), ...citationLinks(task.citations));
  const ask = /** @type {HTMLButtonElement} */ (button);
  ask.hidden = !isOpen(task);
  ask.disabled = task.cancelling;
  ask.ariaLabel = t("task.cancel_this", { task: task.instruction });
}

function createNotice() {
  const item = make("li", "notice-item");
  item.dataset.testid = "notice-item";
  item.append(make("strong", "notice-kind"), make("span", "notice-text"), make("span", "notice-state"));
  return item;
}

/** @param {HTMLElement} item @param {import("../state/notices.js").Notice} notice */
function updateNotice(item, { kind, text, state }) {
  item.dataset.state = state;
  setText(item.children[0], tOf("notice", kind));
  setText(item.children[1], kind === "reminder" ? text.replace(/^A reminder: /, "") : text);
  setText(item.children[2], tOf("notice", state));
}
