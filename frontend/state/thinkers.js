/** Thinker activity, pure: one entry per call, newest first, bounded. */


/**
 * `abandoned` the call ended first
 * @typedef {"routed" | "working" | "complete" | "failed" | "stale" | "cancelled" | "abandoned"} ThinkerState
 * @typedef {{id: string, name: string, state: "started" | "finished" | "failed"}} Step a tool call
 *
 * @typedef {object} Thinker
 * @property {string} id
 * @property {ThinkerState} state
 * @property {string} domain
 * @property {string} label
 * @property {string} query
 * @property {number} elapsedMs as the server last reported, at `seenAt`
 * @property {number} seenAt page clock, ms
 * @property {string} source
 * @property {readonly import("./citations.js").Citation[]} citations
 * @property {string} detail
 * @property {string} error
 * @property {readonly Step[]} steps
 * @property {"" | "cancel" | "say"} asked what the user has asked of it, until the server answers
 * @property {boolean} within whether its call is still under way
 */

export const THINKERS_LIMIT = 30;
const STEPS_LIMIT = 6;
const UNFINISHED = new Set(["routed", "working"]);

/** @param {Thinker} thinker */
export function isWorking(thinker) {
  return UNFINISHED.has(thinker.state);
}

/** The request the user may make of a Thinker now. @param {Thinker} thinker @returns {"" | "cancel" | "say"} */
export function mayAsk(thinker) {
  if (!thinker.within) return "";
  if (isWorking(thinker)) return "cancel";
  return thinker.state === "stale" && !thinker.error ? "say" : "";
}

/**
 * @param {readonly Thinker[]} thinkers
 * @param {Record<string, any>} data a `thinker` event
 * @param {number} at page clock, ms
 * @returns {readonly Thinker[]}
 */
export function thinkerReported(thinkers, data, at) {
  const index = thinkers.findIndex((thinker) => thinker.id === data.call_id);
  const entry = merge(thinkers[index], data, at);
  return index >= 0 ? thinkers.with(index, entry) : [entry, ...thinkers].slice(0, THINKERS_LIMIT);
}

/**
 * The user asked something of it; "" takes that back.
 * @param {readonly Thinker[]} thinkers
 * @param {{id: string, asked: "" | "cancel" | "say"}} data
 * @returns {readonly Thinker[]}
 */
export function askedOfThinker(thinkers, { id, asked }) {
  return thinkers.map((thinker) => (thinker.id === id ? { ...thinker, asked } : thinker));
}

/**
 * The call is over: unfinished work is abandoned, and nothing can be asked of it.
 * @param {readonly Thinker[]} thinkers
 * @returns {readonly Thinker[]}
 */
export function abandonUnfinished(thinkers) {
  if (!thinkers.some((thinker) => thinker.within)) return thinkers;
  return thinkers.map((thinker) => ({
    ...thinker,
    within: false,
    state: isWorking(thinker) ? "abandoned" : thinker.state,
  }));
}

/** @param {Thinker | undefined} old @param {Record<string, any>} data @param {number} at @returns {Thinker} */
function merge(old, data, at) {
  return {
    id: data.call_id,
    state: data.event,
    domain: data.domain ?? old?.domain ?? "",
    label: data.label ?? old?.label ?? data.domain ?? "",
    query: data.query ?? old?.query ?? "",
    elapsedMs: data.elapsed_ms ?? old?.elapsedMs ?? 0,
    seenAt: at,
    source: data.source ?? old?.source ?? "",
    citations: data.citations ?? old?.citations ?? [],
    detail: data.detail ?? (data.tool ? old?.detail : undefined) ?? "",
    error: data.error ?? "",
    steps: stepped(old?.steps ?? [], data.tool),
    asked: "",
    within: true,
  };
}

/**
 * @param {readonly Step[]} steps
 * @param {{id: string, name: string, event: Step["state"]} | undefined} tool
 * @returns {readonly Step[]}
 */
function stepped(steps, tool) {
  if (!tool) return steps;
  const step = { id: tool.id, name: tool.name, state: tool.event };
  const index = steps.findIndex(({ id }) => id === tool.id);
  return index >= 0 ? steps.with(index, step) : [...steps, step].slice(-STEPS_LIMIT);
}
