/** The tally of a call, pure: counts and times for the summary at its end. */

/**
 * @typedef {object} Tally
 * @property {number | null} startedAt page clock, ms
 * @property {number | null} endedAt
 * @property {number} turns of the user
 * @property {string | null} lastTurn its item: a turn may be settled again with what was said in a further piece
 * @property {number} interruptions
 * @property {number} reconnections
 * @property {Readonly<Record<string, number>>} thinkers how often each was asked, by label
 * @property {readonly number[]} answers ms from the user's last sound to the first of the answer, the newest
 * @property {readonly number[]} latencies ms from the user's last sound to the first of the reply, the newest
 */

/** As many as the waterfall has turns: both show the same median. */
export const LATENCIES_LIMIT = 200;

/** @type {Tally} */
export const NO_TALLY = Object.freeze({
  startedAt: null,
  endedAt: null,
  turns: 0,
  lastTurn: null,
  interruptions: 0,
  reconnections: 0,
  thinkers: Object.freeze({}),
  answers: Object.freeze([]),
  latencies: Object.freeze([]),
});

/**
 * @param {Tally} tally
 * @param {import("../store.js").Action} action
 * @returns {Tally}
 */
export function tallyAfter(tally, { type, data, at = 0 }) {
  switch (type) {
    case "page_connected":
      return { ...tally, startedAt: tally.startedAt ?? at, endedAt: null };
    case "page_reconnecting":
      return data.attempt === 1 ? { ...tally, endedAt: null, reconnections: tally.reconnections + 1 } : tally;
    case "page_closed":
    case "session_ended":
      return tally.startedAt !== null && tally.endedAt === null ? { ...tally, endedAt: at } : tally;
    case "transcript":
      if (data.role !== "user" || !data.content.trim() || data.item_id === tally.lastTurn) return tally;
      return { ...tally, turns: tally.turns + 1, lastTurn: data.item_id };
    case "transcript_interrupted":
      return { ...tally, interruptions: tally.interruptions + 1 };
    case "turn_metrics":
      return { ...tally, latencies: [...tally.latencies, data.first_sound_ms].slice(-LATENCIES_LIMIT) };
    case "answer_metrics":
      return { ...tally, answers: [...tally.answers, data.answer_ms].slice(-LATENCIES_LIMIT) };
    case "thinker":
      return data.event === "routed" ? { ...tally, thinkers: counted(tally.thinkers, data.label || data.domain) } : tally;
    default:
      return tally;
  }
}

/** @param {readonly number[]} times @returns {number | null} ms */
export function medianOf(times) {
  if (!times.length) return null;
  const sorted = times.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {Readonly<Record<string, number>>} counts @param {string} name */
function counted(counts, name) {
  return name ? { ...counts, [name]: (counts[name] ?? 0) + 1 } : counts;
}
