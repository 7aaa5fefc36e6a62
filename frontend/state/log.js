/** The event log, pure: one row per event, runs of the same item's deltas in one row, bounded. */

import { waitedWords } from "./turns.js";

/** @typedef {{key: number, at: number, type: string, text: string, group: string, count: number}} Row */

export const LOG_LIMIT = 300;
const TEXT_LIMIT = 160;

/** The words of each event in one line; an unknown one shows its data. @type {Record<string, (data: any) => string>} */
const WORDS = {
  session_started: (d) => `${d.responder}, ${d.model}, turns by ${d.hearing}, over ${d.transport}`,
  responder_changed: (d) => [d.state, d.responder, d.model].filter(Boolean).join(" · "),
  floor: (d) => d.floor,
  transcript_delta: (d) => `${d.role} ${d.item_id}`,
  transcript_done: (d) => d.content,
  transcript: (d) => `${d.role}: ${d.content}`,
  transcript_interrupted: (d) => `heard: ${d.heard || "nothing"}`,
  thinker: (d) => [d.domain, d.event, `${d.elapsed_ms} ms`, d.source, d.error].filter(Boolean).join(" · "),
  notice: (d) => d.text ?? d.message ?? JSON.stringify(d),
  decision: (d) => d.text,
  task: (d) => [d.instruction, d.event, d.detail].filter(Boolean).join(" · "),
  reminder: (d) => [d.event, d.way].filter(Boolean).join(" · "),
  user_context: () => "what I remember about you has changed",
  turn_metrics: (d) => [`turn ${d.turn}: ${d.total_ms} ms`, waitedWords(d)].filter(Boolean).join(" · "),
  murmur: (d) => [d.kind, d.words].filter(Boolean).join(" · "),
  reply_discarded: (d) => `turn ${d.turn}: a prepared reply of ${d.input_tokens + d.output_tokens} tokens`,
  reply_failed: (d) => `turn ${d.turn}: ${[d.status, d.reason, d.remedy.replace("_", " ")].filter(Boolean).join(" · ")}`,
  usage: (d) => [`${d.call_tokens} tokens`, d.call_usd !== null && `$${d.call_usd.toFixed(4)}`].filter(Boolean).join(" · "),
  interruptions: (d) => (d.allowed ? "allowed" : "off"),
  audio_playback_finished: (d) => `${d.item_id} · ${d.played_ms} ms`,
  keys_pressed: (d) => d.keys,
  session_idle_nudge: (d) => `after ${d.idle_s} s`,
  session_idle_disconnect: (d) => `after ${d.idle_s} s`,
  session_ended: (d) => d.reason,
  error: (d) => d.message,
  gap: (d) => `${d.missed} events missed`,
};

const TURNS = ["floor", "turn_metrics", "murmur", "reply_discarded", "reply_failed", "interruptions", "audio_playback_finished"];
/** Kinds of events, for filters. @type {Record<string, {label: string, has: (type: string) => boolean}>} */
export const GROUPS = {
  words: { label: "Words", has: (type) => type.startsWith("transcript") },
  turns: { label: "Turns", has: (type) => TURNS.includes(type) },
  thinkers: { label: "Thinkers", has: (type) => type === "thinker" },
  background: { label: "Background", has: (type) => ["notice", "decision", "task", "reminder", "user_context"].includes(type) },
  session: { label: "Session", has: (type) => type.startsWith("session_") || type === "responder_changed" },
  errors: { label: "Errors", has: (type) => type === "error" || type === "gap" },
};

/**
 * The rows that no filter keeps back. An event of no known group always shows.
 * @param {readonly Row[]} rows
 * @param {ReadonlySet<string>} hidden names of groups
 * @param {string} words to be found in type or text
 * @returns {readonly Row[]}
 */
export function matching(rows, hidden, words) {
  const wanted = words.trim().toLowerCase();
  if (!hidden.size && !wanted) return rows;
  const group = (/** @type {string} */ type) => Object.keys(GROUPS).find((name) => GROUPS[name].has(type)) ?? "";
  return rows.filter(
    ({ type, text }) => !hidden.has(group(type)) && (!wanted || `${type} ${text}`.toLowerCase().includes(wanted)),
  );
}

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
