/** The user's profile, as far as the page has loaded it. Pure. */

import { listOf, t } from "../texts.js";

/**
 * @typedef {object} Known as `GET /api/me` returns it
 * @property {Record<string, any>} preferences
 * @property {readonly string[]} facts
 * @property {string} summary
 * @property {{topic_counts?: Record<string, number>, last_active?: number, session_count?: number}} signals
 * @property {readonly string[]} instructions how they always want to be answered
 * @property {number} retention_days 0: kept without limit
 *
 * @typedef {object} UserMemory
 * @property {Known | null} known null until it was asked for
 * @property {boolean} busy a request is under way
 * @property {string} said the outcome of the last one, in words
 * @property {boolean} failed whether the last one failed
 * @property {number} changes how often the server reported a change: an open panel loads it again
 */

/** @type {UserMemory} */
export const NOTHING_KNOWN = Object.freeze({ known: null, busy: false, said: "", failed: false, changes: 0 });

/** @param {UserMemory} memory @param {import("../store.js").Action} action @returns {UserMemory} */
export function memoryAfter(memory, { type, data }) {
  switch (type) {
    case "page_memory_asked":
      return { ...memory, busy: true, said: "", failed: false };
    case "page_memory_loaded":
      return { ...memory, known: data.known, busy: false, said: data.said ?? "", failed: false };
    case "page_memory_renewed":
      return { ...memory, known: data.known, ...(isSame(memory.known, data.known) ? {} : { said: t("memory.updated"), failed: false }) };
    case "user_context":
      return { ...memory, changes: memory.changes + 1 };
    case "page_memory_failed":
      return { ...memory, busy: false, said: data.said, failed: true };
    default:
      return memory;
  }
}

/** True if two profiles are equal, apart from their counts. @param {Known | null} one @param {Known} other */
function isSame(one, other) {
  const words = (/** @type {Known | null} */ known) => JSON.stringify(known && { ...known, signals: null });
  return words(one) === words(other);
}

/** The preferences that set up calls and the page, and are shown in the settings. */
const OF_CALLS = new Set(["voice", "speech_speed", "responder", "turn_patience", "interruptions", "captions", "theme"]);

/** Nothing at all is known. @param {Known} known */
export function isBlank({ preferences, facts, summary, signals, instructions }) {
  const empty = (/** @type {any} */ value) => value === "" || (Array.isArray(value) && !value.length);
  return Object.entries(preferences).every(([name, value]) => OF_CALLS.has(name) || empty(value)) && !facts.length && !instructions.length && !summary && !signals.session_count;
}

/** The counts of a profile in a sentence. @param {Known} known */
export function countsInWords({ signals }) {
  const calls = signals.session_count ?? 0;
  const topics = Object.entries(signals.topic_counts ?? {}).sort(([, one], [, other]) => other - one).slice(0, 5);
  const asked = topics.length ? t("memory.asked_most", { topics: listOf(topics.map(([topic, times]) => `${topic} (${times})`)) }) : "";
  return listOf([t("memory.calls", { count: calls }), asked].filter(Boolean));
}
