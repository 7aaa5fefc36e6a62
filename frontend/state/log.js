/** The event log, pure: one row per event, runs of the same item's deltas in one row, bounded. */

/** @typedef {{key: number, at: number, type: string, text: string, group: string, count: number}} Row */

export const LOG_LIMIT = 300;
const TEXT_LIMIT = 160;

/** How an event reads in one line; anything unknown shows its data. @type {Record<string, (data: any) => string>} */
const WORDS = {
  session_started: (d) => `${d.responder}, ${d.model}, hears by ${d.hearing}, over ${d.transport}`,
  floor: (d) => d.floor,
  transcript_delta: (d) => `${d.role} ${d.item_id}`,
  transcript_done: (d) => d.content,
  transcript: (d) => `${d.role}: ${d.content}`,
  transcript_interrupted: (d) => `heard: ${d.heard || "nothing"}`,
  thinker: (d) => [d.domain, d.event, `${d.elapsed_ms} ms`, d.source, d.error].filter(Boolean).join(" · "),
  turn_metrics: (d) => `turn ${d.turn}: ${d.total_ms} ms`,
  audio_playback_finished: (d) => `${d.item_id} · ${d.played_ms} ms`,
  session_idle_nudge: (d) => `after ${d.idle_s} s`,
  session_idle_disconnect: (d) => `after ${d.idle_s} s`,
  session_ended: (d) => d.reason,
  error: (d) => d.message,
  gap: (d) => `${d.missed} events missed`,
};

/**
 * @param {readonly Row[]} rows oldest first
 * @param {string} type
 * @param {any} data
 * @param {number} at page clock, ms
 * @returns {readonly Row[]}
 */
export function logged(rows, type, data, at) {
  const last = rows.at(-1);
  const group = type === "transcript_delta" ? `${type} ${data.item_id}` : "";
  if (last && group && last.group === group) return rows.with(-1, { ...last, at, count: last.count + 1 });
  const row = { key: (last?.key ?? 0) + 1, at, type, text: inWords(type, data), group, count: 1 };
  return [...rows, row].slice(-LOG_LIMIT);
}

/** @param {string} type @param {any} data */
function inWords(type, data) {
  const text = String(WORDS[type]?.(data) ?? JSON.stringify(data));
  return text.length > TEXT_LIMIT ? `${text.slice(0, TEXT_LIMIT - 1)}…` : text;
}
