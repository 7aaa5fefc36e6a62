/**
 * Where the time of each turn went, pure: the session's last turns, bounded.
 *
 * A turn's scale begins with the caller's last sound. Its legs follow each other up to the first sound of the reply;
 * Thinkers and their tools are on the same scale, and may continue long after that sound.
 */

import { listOf, t, tOf } from "../texts.js";
import { medianOf } from "./tally.js";

/**
 * @typedef {{id: string, name: string, start: number, end: number | null, failed: boolean}} Tool  ms on the turn's scale
 * @typedef {object} Work a Thinker at work
 * @property {string} id
 * @property {string} label
 * @property {number} start ms on the turn's scale
 * @property {number | null} end null: still at it
 * @property {string} state the last event: routed, working, complete, failed, stale
 * @property {readonly Tool[]} tools
 *
 * @typedef {Record<string, any>} Metrics  a `turn_metrics` event: milliseconds, counts, and the reason of the wait
 * @typedef {{turn: number, metrics: Metrics | null, works: readonly Work[], discarded: readonly number[], answer_ms?: number}} Turn
 *   discarded: the tokens of each prepared reply that was thrown away
 * @typedef {{session: string, before: number, list: readonly Turn[]}} Turns  oldest first; `before`: turns of the
 *   sessions that this conversation had before a reconnection, since each session counts from one
 * @typedef {{name: string, words: string, start: number, ms: number}} Segment
 * @typedef {{legs: Record<string, number>, first_sound_ms: number, p95_ms: number, answer_ms?: number}} Medians  legs by their names
 */

export const TURNS_LIMIT = 200;
const WORKS_LIMIT = 16;
const TOOLS_LIMIT = 24;
const DISCARDED_LIMIT = 16;

/** @type {Turns} */
export const NO_TURNS = Object.freeze({ session: "", before: 0, list: Object.freeze([]) });

/** The stages between the last sound of the caller and the first of the reply, in order. */
export const LEGS = Object.freeze(/** @type {const} */ (["hangover", "commit", "reply_started", "first_token", "first_audio", "end_of_turn", "played"]));

/** @param {Turns} turns @param {import("../store.js").Action} action @returns {Turns} */
export function turnsAfter(turns, { type, data }) {
  switch (type) {
    case "page_connecting":
      return data.again ? turns : NO_TURNS;
    case "page_new_conversation":
      return NO_TURNS;
    case "session_started":
      if (data.session_id === turns.session) return turns;
      return { ...turns, session: data.session_id, before: turns.list.at(-1)?.turn ?? 0 };
    case "turn_metrics":
      return changed(turns, turns.before + data.turn, (turn) => ({ ...turn, metrics: data }));
    case "answer_metrics":
      return changed(turns, turns.before + data.turn, (turn) => ({ ...turn, answer_ms: data.answer_ms }));
    case "reply_discarded":
      return changed(turns, turns.before + data.turn, (turn) => {
        return { ...turn, discarded: [...turn.discarded, data.input_tokens + data.output_tokens].slice(-DISCARDED_LIMIT) };
      });
    case "thinker":
      if (!Number.isFinite(data.turn)) return turns;
      return changed(turns, turns.before + data.turn, (turn) => worked(turn, data));
    default:
      return turns;
  }
}

/**
 * The legs of a turn, each beginning where the one before it ended; together they are `first_sound_ms`.
 * @param {Metrics} metrics
 * @returns {Segment[]}
 */
export function segments(metrics) {
  const sounded = metrics.first_audio_ms ?? 0;
  const token = Math.min(metrics.first_token_ms ?? 0, sounded);
  const split = { ...metrics, first_token_ms: token, first_audio_ms: sounded - token };
  let start = 0;
  return LEGS.map((name) => {
    const ms = /** @type {Record<string, number>} */ (split)[`${name}_ms`] ?? 0;
    const segment = { name, words: t(`leg.${name}`), start, ms };
    start += ms;
    return segment;
  });
}

/** How long the turn's silence was waited out, and why; "" for a typed turn. @param {Metrics} metrics */
export function waitedWords({ wait_ms = 0, reason = "" }) {
  return reason ? t("pause.waited", { time: t("time.ms", { ms: wait_ms }), reason: tOf("reason", reason) }) : "";
}

/** Everything about the turn's pauses in a sentence, "" where there is nothing to say. @param {Turn} turn */
export function pausesInWords({ metrics, discarded }) {
  const { segments = 1, discarded: thrown = 0 } = metrics ?? {};
  const count = Math.max(thrown, discarded.length);
  const tokens = discarded.reduce((sum, each) => sum + each, 0);
  const parts = [
    waitedWords(metrics ?? {}),
    segments > 1 && t("pause.segments", { count: segments }),
    count > 0 && t("pause.discarded", { count }),
  ].filter((part) => typeof part === "string" && part !== "");
  if (!parts.length) return "";
  const words = listOf(/** @type {string[]} */ (parts));
  const sentence = `${words[0].toUpperCase()}${words.slice(1)}`;
  return tokens ? t("pause.sentence_tokens", { parts: sentence, tokens: t("pause.tokens", { count: tokens }) }) : t("pause.sentence", { parts: sentence });
}

/** The end of the turn's scale: its first sound, or the last thing done for it. @param {Turn} turn */
export function span({ metrics, works }) {
  const ends = works.map((work) => work.end ?? work.tools.at(-1)?.end ?? work.start);
  return Math.max(metrics?.first_sound_ms ?? 0, ...ends, 1);
}

/** Turns that were answered with sound. @param {Turns} turns */
export function measured({ list }) {
  return list.filter((turn) => turn.metrics !== null);
}

/**
 * The median of each leg and of the whole; the medians of the legs need not add up to that of the whole.
 * @param {Turns} turns
 * @returns {Medians | null}
 */
export function medians(turns) {
  const all = measured(turns).map(({ metrics }) => /** @type {Metrics} */ (metrics));
  if (!all.length) return null;
  const parts = all.map(segments);
  const legs = LEGS.map((name, n) => [name, medianOf(parts.map((segments) => segments[n].ms))]);
  const totals = all.map((metrics) => metrics.first_sound_ms);
  const answer = medianOf(turns.list.flatMap(({ answer_ms: ms }) => (ms === undefined ? [] : [ms])));
  return {
    legs: Object.fromEntries(legs),
    first_sound_ms: medianOf(totals) ?? 0,
    p95_ms: quantile(totals, 0.95),
    ...(answer === null ? {} : { answer_ms: answer }),
  };
}

/** The slowest first. @param {Turns} turns @param {number} count */
export function slowest(turns, count) {
  const total = (/** @type {Turn} */ turn) => turn.metrics?.first_sound_ms ?? 0;
  return measured(turns).sort((one, other) => total(other) - total(one)).slice(0, count);
}

/** Of the values, the one at that rank. @param {readonly number[]} values at least one @param {number} share 0 to 1 */
export function quantile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** @param {Turns} turns @param {number} number @param {(turn: Turn) => Turn} change @returns {Turns} */
function changed(turns, number, change) {
  const at = turns.list.findIndex(({ turn }) => turn === number);
  if (at >= 0) return { ...turns, list: turns.list.with(at, change(turns.list[at])) };
  const added = change({ turn: number, metrics: null, works: [], discarded: [] });
  const list = [...turns.list, added].sort((one, other) => one.turn - other.turn);
  return { ...turns, list: list.slice(-TURNS_LIMIT) };
}

/** @param {Turn} turn @param {Record<string, any>} data a `thinker` event @returns {Turn} */
function worked(turn, data) {
  const at = turn.works.findIndex(({ id }) => id === data.call_id);
  const work = after(turn.works[at] ?? begun(data), data);
  const works = at >= 0 ? turn.works.with(at, work) : [...turn.works, work].slice(-WORKS_LIMIT);
  return { ...turn, works };
}

/** @param {Record<string, any>} data @returns {Work} */
function begun(data) {
  const start = data.into_turn_ms ?? 0;
  return { id: data.call_id, label: data.label || data.domain, start, end: null, state: "routed", tools: [] };
}

/** @param {Work} work @param {Record<string, any>} data @returns {Work} */
function after(work, data) {
  const now = work.start + (data.elapsed_ms ?? 0);
  const over = data.event === "complete" || data.event === "failed" || data.event === "stale";
  const end = over ? (work.end ?? now) : work.end;
  const tools = data.tool ? stepped(work.tools, data.tool, now) : work.tools;
  return { ...work, state: data.event, end, tools: over ? closed(tools, end ?? now) : tools };
}

/**
 * @param {readonly Tool[]} tools
 * @param {{id: string, name: string, event: string}} step
 * @param {number} now
 * @returns {readonly Tool[]}
 */
function stepped(tools, { id, name, event }, now) {
  const at = tools.findLastIndex((tool) => tool.id === id && tool.end === null);
  if (event === "started") return [...tools, { id, name, start: now, end: null, failed: false }].slice(-TOOLS_LIMIT);
  if (at < 0) return tools;
  return tools.with(at, { ...tools[at], end: now, failed: event === "failed" });
}

/** A Thinker that is done has no tool at work. @param {readonly Tool[]} tools @param {number} end */
function closed(tools, end) {
  return tools.map((tool) => (tool.end === null ? { ...tool, end } : tool));
}
