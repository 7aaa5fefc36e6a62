/** Thinker activity, pure: one card per call, newest first, bounded. */

/**
 * @typedef {"routed" | "working" | "complete" | "failed" | "stale" | "abandoned"} ThinkerState
 * @typedef {{id: string, state: ThinkerState, domain: string, label: string, query: string, elapsedMs: number,
 *   source: string, detail: string, error: string, seenAt: number}} Thinker
 *   elapsedMs as the server last told, at `seenAt` (page clock, ms)
 */

export const THINKERS_LIMIT = 30;
const UNFINISHED = new Set(["routed", "working"]);

/** @param {Thinker} thinker */
export function isWorking(thinker) {
  return UNFINISHED.has(thinker.state);
}

/**
 * @param {readonly Thinker[]} thinkers
 * @param {Record<string, any>} data a `thinker` event
 * @param {number} at page clock, ms
 * @returns {readonly Thinker[]}
 */
export function heardOfThinker(thinkers, data, at) {
  const index = thinkers.findIndex((thinker) => thinker.id === data.call_id);
  const card = merge(thinkers[index], data, at);
  return index >= 0 ? thinkers.with(index, card) : [card, ...thinkers].slice(0, THINKERS_LIMIT);
}

/**
 * The call is over: nobody waits for unfinished work any more.
 * @param {readonly Thinker[]} thinkers
 * @returns {readonly Thinker[]}
 */
export function abandonUnfinished(thinkers) {
  if (!thinkers.some(isWorking)) return thinkers;
  return thinkers.map((thinker) => (isWorking(thinker) ? { ...thinker, state: "abandoned" } : thinker));
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
    source: data.source ?? old?.source ?? "",
    detail: data.detail ?? (data.tool ? old?.detail : undefined) ?? "",
    error: data.error ?? "",
    seenAt: at,
  };
}
