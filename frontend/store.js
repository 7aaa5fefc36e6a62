/**
 * The page's whole state and the pure reducer that moves it on: `reduce(state, action) → state`.
 *
 * Two kinds of actions go in alike: the server's events under their own names, and what happens in the page itself
 * under names that begin with `page_`. Parts that did not change keep their identity, so a view compares with `===`.
 */

import { logged } from "./state/log.js";
import { memoryAfter, NOTHING_KNOWN } from "./state/memory.js";
import { NO_STATS, statsAfter } from "./state/stats.js";
import { abandonUnfinished, heardOfThinker } from "./state/thinkers.js";
import { addDelta, EMPTY_TRANSCRIPT, generated, interrupted, rebuilt, settled, userSpeaks } from "./state/transcript.js";
import { NO_TURNS, turnsAfter } from "./state/turns.js";
import { sessionEndedFailure, spokenError } from "./failures.js";

/**
 * @typedef {"loading" | "ready" | "connecting" | "connected" | "shaky" | "ended"} Phase
 * @typedef {"listening" | "user" | "assistant" | "held" | "closed"} Floor
 * @typedef {import("./failures.js").Failure} Failure
 * @typedef {{type: string, data?: any, at?: number}} Action  at: page clock, ms
 *
 * @typedef {object} Microphone
 * @property {"unknown" | "on" | "silent"} mode silent: the caller only types
 * @property {boolean} muted
 * @property {string} chosen a device's id; "" for the system's default
 * @property {readonly {id: string, label: string}[]} devices
 *
 * @typedef {object} State
 * @property {Phase} phase
 * @property {string} step what a connecting call is doing: "microphone" or "answer"
 * @property {Floor} floor
 * @property {any} config what /api/config told, or null
 * @property {any} session the `session_started` event of this call, or null
 * @property {Microphone} microphone
 * @property {import("./state/transcript.js").Transcript} transcript
 * @property {readonly import("./state/thinkers.js").Thinker[]} thinkers
 * @property {any} metrics the last `turn_metrics` event, or null
 * @property {import("./state/turns.js").Turns} turns
 * @property {import("./state/stats.js").Stats} stats
 * @property {import("./state/memory.js").UserMemory} memory
 * @property {readonly import("./state/log.js").Row[]} log
 * @property {Failure | null} failure what stands in the user's way now
 */

/** @type {State} */
export const INITIAL_STATE = Object.freeze({
  phase: "loading",
  step: "",
  floor: "closed",
  config: null,
  session: null,
  microphone: Object.freeze({ mode: "unknown", muted: false, chosen: "", devices: Object.freeze([]) }),
  transcript: EMPTY_TRANSCRIPT,
  thinkers: Object.freeze([]),
  metrics: null,
  turns: NO_TURNS,
  stats: NO_STATS,
  memory: NOTHING_KNOWN,
  log: Object.freeze([]),
  failure: null,
});

/**
 * What each action changes; an unknown one changes nothing but the log.
 * @type {Record<string, (state: State, data: any, at: number) => Partial<State>>}
 */
const CHANGES = {
  page_configured: (state, config) => ({ config, phase: state.phase === "loading" ? "ready" : state.phase }),
  page_connecting: (state, { step }) => ({
    phase: "connecting",
    step,
    floor: "closed",
    failure: null,
    ...(state.phase === "connecting" ? {} : FRESH_CALL),
  }),
  page_connected: () => ({ phase: "connected" }),
  page_shaky: (state) => (state.phase === "connected" ? { phase: "shaky" } : {}),
  page_steady: (state) => (state.phase === "shaky" ? { phase: "connected" } : {}),
  page_closed: (state) => closed(state, state.failure),
  page_failed: (_, failure) => ({ failure }),
  page_failure_dismissed: () => ({ failure: null }),
  page_microphone: (state, changes) => ({ microphone: { ...state.microphone, ...changes } }),
  page_transcript_loaded: (state, { messages }) => ({ transcript: rebuilt(state.transcript, messages) }),

  session_started: (_, session) => ({ session, floor: "listening" }),
  floor: (state, { floor }) => ({
    floor,
    transcript: floor === "user" && state.floor !== "user" ? userSpeaks(state.transcript) : state.transcript,
  }),
  transcript_delta: (state, data) => ({ transcript: addDelta(state.transcript, data) }),
  transcript_done: (state, data) => ({ transcript: generated(state.transcript, data) }),
  transcript: (state, data) => ({ transcript: settled(state.transcript, data) }),
  transcript_interrupted: (state, data) => ({ transcript: interrupted(state.transcript, data) }),
  thinker: (state, data, at) => ({ thinkers: heardOfThinker(state.thinkers, data, at) }),
  turn_metrics: (_, metrics) => ({ metrics }),
  error: (_, data) => ({ failure: spokenError(data) }),
  session_ended: (state, { reason }) => closed(state, sessionEndedFailure(reason) ?? state.failure),
};

/** What a new call begins without. The log goes on: it tells of the page, not of one call. */
const FRESH_CALL = { session: null, transcript: EMPTY_TRANSCRIPT, thinkers: Object.freeze([]), metrics: null };

/** @param {State} state @param {Failure | null} failure @returns {Partial<State>} */
function closed(state, failure) {
  return { phase: "ended", floor: "closed", failure, thinkers: abandonUnfinished(state.thinkers) };
}

/** @param {State} state @param {Action} action @returns {State} */
export function reduce(state, { type, data = {}, at = 0 }) {
  const changes = CHANGES[type]?.(state, data, at) ?? {};
  return { ...state, ...changes, ...partsAfter(state, { type, data, at }) };
}

/** The parts that hear every action and know by themselves what concerns them. @param {State} state @param {Action} action */
function partsAfter(state, action) {
  const { type, data, at = 0 } = action;
  return {
    turns: turnsAfter(state.turns, action),
    stats: statsAfter(state.stats, action),
    memory: memoryAfter(state.memory, action),
    log: type.startsWith("page_") ? state.log : logged(state.log, type, data, at),
  };
}

/** Holds the state; tells its subscribers of changes once per turn of the event loop, however many there were. */
export class Store {
  /** @type {State} */
  state = INITIAL_STATE;
  /** @type {Set<(state: State, before: State) => void>} */
  #subscribers = new Set();
  /** @type {State | null} */
  #before = null;

  /** @param {string} type @param {any} [data] */
  dispatch(type, data) {
    if (!this.#before) {
      this.#before = this.state;
      queueMicrotask(() => this.#emit());
    }
    this.state = reduce(this.state, { type, data, at: Date.now() });
  }

  /**
   * Calls `subscriber` now and after every change.
   * @param {(state: State, before: State | Record<string, never>) => void} subscriber
   */
  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    subscriber(this.state, {});
  }

  #emit() {
    const before = /** @type {State} */ (this.#before);
    this.#before = null;
    for (const subscriber of this.#subscribers) subscriber(this.state, before);
  }
}
