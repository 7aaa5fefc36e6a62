/** Background tasks, pure: work that outlives the call, newest first, bounded. */


/**
 * @typedef {"queued" | "running" | "retrying" | "done" | "failed" | "canceled"} TaskState
 *
 * @typedef {object} Task
 * @property {string} id
 * @property {TaskState} state
 * @property {string} kind
 * @property {string} instruction
 * @property {string} progress the latest
 * @property {string} result
 * @property {string} source
 * @property {readonly import("./citations.js").Citation[]} citations
 * @property {string} error
 * @property {number} since page clock, ms
 * @property {boolean} cancelling the user has asked, and the server not answered yet
 */

export const TASKS_LIMIT = 20;

/** @type {readonly Task[]} */
export const NO_TASKS = Object.freeze([]);
const OPEN = new Set(["queued", "running", "retrying"]);

/** @param {Task} task */
export function isOpen(task) {
  return OPEN.has(task.state);
}

/**
 * @param {readonly Task[]} tasks
 * @param {import("../store.js").Action} action
 * @returns {readonly Task[]}
 */
export function tasksAfter(tasks, { type, data, at = 0 }) {
  switch (type) {
    case "task":
      return updated(tasks, data, at);
    case "page_tasks_loaded":
      return data.tasks.slice(0, TASKS_LIMIT).map(fromRecord);
    case "page_task_cancelling":
      return tasks.map((task) => (task.id === data.id ? { ...task, cancelling: data.cancelling } : task));
    default:
      return tasks;
  }
}

/** @param {readonly Task[]} tasks @param {Record<string, any>} data a `task` event @param {number} at */
function updated(tasks, data, at) {
  const index = tasks.findIndex(({ id }) => id === data.task_id);
  const old = tasks[index];
  const going = data.event === "progress";
  const task = {
    id: data.task_id,
    state: going ? /** @type {const} */ ("running") : data.event,
    kind: data.kind ?? old?.kind ?? "",
    instruction: data.instruction ?? old?.instruction ?? "",
    progress: going ? (data.detail ?? "") : (old?.progress ?? ""),
    result: data.result ?? old?.result ?? "",
    source: data.source ?? old?.source ?? "",
    citations: data.citations ?? old?.citations ?? [],
    error: going ? "" : (data.detail ?? ""),
    since: old?.since ?? at,
    cancelling: false,
  };
  return index >= 0 ? tasks.with(index, task) : [task, ...tasks].slice(0, TASKS_LIMIT);
}

/** @param {Record<string, any>} record as `GET /api/tasks` shows it @returns {Task} */
function fromRecord({ id, state, kind, instruction, progress, result, source, error, ...record }) {
  const citations = record.citations ?? [];
  return { id, state, kind, instruction, progress, result, source, citations, error, since: record.created_at * 1000, cancelling: false };
}
