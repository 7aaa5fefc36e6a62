/** The event log, pure: one row per event, runs of the same item's deltas in one row, bounded. */

import { t } from "../texts.js";
import { waitedWords } from "./turns.js";

/** @typedef {{key: number, at: number, type: string, text: string, group: string, count: number}} Row */

export const LOG_LIMIT = 300;
const TEXT_LIMIT = 160;

/** The words of each event in one line; an unknown one shows its data. @type {Record<string, (data: any) => string>} */
const WORDS = {
  session_started: (d) => [d.responder, d.model, d.hearing, d.transport].filter(Boolean).join(" · "),
  responder_changed: (d) => [d.state, d.responder, d.model].filter(Boolean).join(" · "),
  floor: (d) => d.floor,
  transcript_delta: (d) => `${d.role} ${d.item_id}`,
  transcript_done: (d) => d.content,
  transcript: (d) => `${d.role}: ${d.content}`,
  transcript_interrupted: (d) => t("log.heard", { words: d.heard || t("announce.nothing_heard") }),
  thinker: (d) => [d.domain, d.event, t("time.ms", { ms: d.elapsed_ms ?? 0 }), d.source, d.error].filter(Boolean).join(" · "),
  notice: (d) => d.text ?? d.message ?? JSON.stringify(d),
  decision: (d) => d.text,
  task: (d) => [d.instruction, d.event, d.detail].filter(Boolean).join(" · "),
  reminder: (d) => [d.event, d.way].filter(Boolean).join(" · "),
  user_context: () => t("log.memory_changed"),
  answer_metrics: (d) => t("log.turn", { turn: d.turn, what: t("log.answer", { time: t("time.ms", { ms: d.answer_ms }) }) }),
  turn_metrics: (d) => [t("log.turn", { turn: d.turn, what: t("time.ms", { ms: d.first_sound_ms }) }), waitedWords(d)].filter(Boolean).join(" · "),
  murmur: (d) => [d.kind, d.words].filter(Boolean).join(" · "),
  reply_discarded: (d) => t("log.turn", { turn: d.turn, what: t("pause.tokens", { count: d.input_tokens + d.output_tokens }) }),
  reply_failed: (d) => t("log.turn", { turn: d.turn, what: [d.status, d.reason, d.remedy.replace("_", " ")].filter(Boolean).join(" · ") }),
  usage: (d) => [t("pause.tokens", { count: d.call_tokens }), d.call_usd !== null && `$${d.call_usd.toFixed(4)}`].filter(Boolean).join(" · "),
  interruptions: (d) => (t(d.allowed ? "log.interruptions_on" : "log.interruptions_off")),
  recording: (d) => (d.on ? t("log.recording_on") : `${t("log.recording_off")} · ${d.reason}`),
  audio_playback_finished: (d) => `${d.item_id} · ${t("time.ms", { ms: d.played_ms })}`,
  keys_pressed: (d) => d.keys,
  session_idle_nudge: (d) => t("log.after", { time: t("time.s", { s: d.idle_s }) }),
  session_idle_disconnect: (d) => t("log.after", { time: t("time.s", { s: d.idle_s }) }),
  session_ended: (d) => d.reason,
  error: (d) => d.message,
  gap: (d) => t("log.missed", { count: d.missed }),
};

const TURNS = ["floor", "turn_metrics", "answer_metrics", "murmur", "reply_discarded", "reply_failed", "interruptions", "audio_playback_finished"];
/** Kinds of events, for filters. @type {Record<string, {has: (type: string) => boolean}>} */
export const GROUPS = {
  words: { has: (type) => type.startsWith("transcript") },
  turns: { has: (type) => TURNS.includes(type) },
  thinkers: { has: (type) => type === "thinker" },
  background: { has: (type) => ["notice", "decision", "task", "reminder", "user_context"].includes(type) },
  session: { has: (type) => type.startsWith("session_") || type === "responder_changed" || type === "recording" },
  errors: { has: (type) => type === "error" || type === "gap" },
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
