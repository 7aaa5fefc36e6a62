/** Statistics of the connection and the server's speech scores, pure: short histories, bounded. */

/**
 * @typedef {object} Network one second of the connection; null: not known (yet)
 * @property {number | null} roundTripMs
 * @property {number | null} jitterMs how unevenly the assistant's packets arrive
 * @property {number | null} lostShare of the assistant's packets, 0 to 1
 * @property {number | null} lostUpShare of our packets, as the server reports
 * @property {number | null} concealedShare of the samples, which the browser had to invent
 * @property {number | null} bufferMs how long sound waits here to be played evenly
 *
 * @typedef {{threshold: number, frameMs: number, scores: readonly number[]}} SpeechScores  scores: probability of speech, oldest first
 * @typedef {{network: readonly Network[], speech: SpeechScores}} Stats
 */

/** Seconds of the connection kept. */
export const NETWORK_LIMIT = 60;
/** Frames of the detector kept: ten seconds. */
export const SCORES_LIMIT = 500;

/** @type {Stats} */
export const NO_STATS = Object.freeze({
  network: Object.freeze([]),
  speech: Object.freeze({ threshold: 0.5, frameMs: 20, scores: Object.freeze([]) }),
});

/** @param {Stats} stats @param {import("../store.js").Action} action @returns {Stats} */
export function statsAfter(stats, { type, data }) {
  switch (type) {
    case "page_connecting":
      return NO_STATS;
    case "page_network":
      return { ...stats, network: [...stats.network, data].slice(-NETWORK_LIMIT) };
    case "page_levels":
      return { ...stats, speech: appended(stats.speech, data) };
    default:
      return stats;
  }
}

/**
 * @param {SpeechScores} speech
 * @param {{threshold: number, frame_ms: number, scores: number[]}} levels
 * @returns {SpeechScores}
 */
function appended({ scores: before }, { threshold, frame_ms, scores }) {
  return { threshold, frameMs: frame_ms, scores: [...before, ...scores].slice(-SCORES_LIMIT) };
}

/** Share of the frames that counted as speech. @param {SpeechScores} speech */
export function speechShare({ scores, threshold }) {
  return scores.length ? scores.filter((score) => score >= threshold).length / scores.length : 0;
}

/**
 * Compute the statistics of one second from the browser's counters before and after it.
 * @param {Counters} now
 * @param {Counters | null} before
 * @returns {Network}
 */
export function networkBetween(now, before) {
  const since = (/** @type {keyof Counters} */ name) => (now[name] ?? 0) - (before?.[name] ?? 0);
  return {
    roundTripMs: inMs(now.roundTripS),
    jitterMs: inMs(now.jitterS),
    lostShare: share(since("lost"), since("lost") + since("received")),
    lostUpShare: now.lostUpShare,
    concealedShare: share(since("concealed"), since("samples")),
    bufferMs: inMs(quotient(since("bufferedS"), since("emitted"))),
  };
}

/**
 * @typedef {object} Counters since the call began
 * @property {number | null} roundTripS
 * @property {number | null} jitterS
 * @property {number | null} lost
 * @property {number | null} received
 * @property {number | null} lostUpShare
 * @property {number | null} concealed
 * @property {number | null} samples
 * @property {number | null} bufferedS seconds of waiting, summed over the samples
 * @property {number | null} emitted samples that have waited
 */

/** @param {Iterable<any>} reports what `getStats()` lists @returns {Counters} */
export function countersOf(reports) {
  const all = [...reports];
  const find = (/** @type {(report: any) => boolean} */ fits) => all.find(fits) ?? {};
  const inbound = find(({ type, kind }) => type === "inbound-rtp" && kind === "audio");
  const remote = find(({ type, kind }) => type === "remote-inbound-rtp" && kind === "audio");
  const pair = find(({ type, nominated, state }) => type === "candidate-pair" && nominated && state === "succeeded");
  return {
    roundTripS: remote.roundTripTime ?? pair.currentRoundTripTime ?? null,
    jitterS: inbound.jitter ?? null,
    lost: inbound.packetsLost ?? null,
    received: inbound.packetsReceived ?? null,
    lostUpShare: remote.fractionLost ?? null,
    concealed: inbound.concealedSamples ?? null,
    samples: inbound.totalSamplesReceived ?? null,
    bufferedS: inbound.jitterBufferDelay ?? null,
    emitted: inbound.jitterBufferEmittedCount ?? null,
  };
}

/** @param {number | null} seconds */
function inMs(seconds) {
  return seconds === null ? null : seconds * 1000;
}

/** @param {number} part @param {number} whole */
function share(part, whole) {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : null;
}

/** @param {number} part @param {number} whole */
function quotient(part, whole) {
  return whole > 0 ? part / whole : null;
}
