/**
 * The page's whole state and the pure reducer that moves it on: `reduce(state, action) → state`.
 *
 * Two kinds of actions go in alike: the server's events under their own names, and what happens in the page itself
 * under names that begin with `page_`. Parts that did not change keep their identity, so a view compares with `===`.
 */

import { logged } from "./state/log.js";
import { memoryAfter, NOTHING_KNOWN } from "./state/memory.js";
import { NO_CONFIRMATIONS, confirmationsAfter } from "./state/confirmations.js";
import { NO_NOTICES, noticesAfter } from "./state/notices.js";
import { NOT_RECORDED, recordingAfter } from "./state/recording.js";
import { NO_REMINDERS, remindersAfter } from "./state/reminders.js";
import { NO_STATS, statsAfter } from "./state/stats.js";
import { NO_TALLY, tallyAfter } from "./state/tally.js";
import { NO_TASKS, tasksAfter } from "./state/tasks.js";
import { ALL_READABLE, unreadableAfter } from "./state/unreadable.js";
import { abandonUnfinished, askedOfThinker, thinkerReported } from "./state/thinkers.js";
import {
  addDelta,
  answered,
  EMPTY_TRANSCRIPT,
  generated,
  interrupted,
  murmured,
  noted,
  rebuilt,
  recalled,
  settled,
  silenced,
  userSpeaks,
} from "./state/transcript.js";
import { NO_TURNS, turnsAfter } from "./state/turns.js";
import { sessionEndedFailure, reportedError } from "./failures.js";
import { t } from "./texts.js";

/**
 * `shaky` the connection may recover by itself · `reconnecting` it is lost, and the page dials again
 * @typedef {"loading" | "ready" | "connecting" | "connected" | "shaky" | "reconnecting" | "ended"} Phase
 * @typedef {"listening" | "user" | "pausing" | "assistant" | "held" | "closed"} Floor
 * @typedef {import("./failures.js").Failure} Failure
 * @typedef {{type: string, data?: any, at?: number}} Action  at: page clock, ms
 *
 * @typedef {object} State
 * @property {Phase} phase
 * @property {string} step what a connecting call is doing: "microphone", "answer" or "fallback"
 * @property {number} attempt how often a lost call was tried again
 * @property {Floor} floor
 * @property {any} config the answer of /api/config, or null
 * @property {any} session the `session_started` event of this call, or null
 * @property {import("./client/call_audio.js").Microphone} microphone
 * @property {import("./client/call_audio.js").Speaker} speaker
 * @property {{allowed: boolean, chosen: boolean}} interruptions whether the caller's voice may interrupt replies, and
 *   whether that was chosen here or is the server's own
 * @property {import("./state/transcript.js").Transcript} transcript
 * @property {import("./state/tally.js").Tally} tally
 * @property {readonly import("./state/thinkers.js").Thinker[]} thinkers
 * @property {readonly import("./state/tasks.js").Task[]} tasks
 * @property {import("./state/unreadable.js").Unreadable} unreadable what is missing from the lists of tasks and reminders
 * @property {readonly import("./state/notices.js").Notice[]} notices
 * @property {import("./state/reminders.js").Reminders} reminders
 * @property {readonly import("./state/confirmations.js").Confirmation[]} confirmations
 * @property {import("./state/recording.js").Recording} recording
 * @property {import("./state/turns.js").Turns} turns
 * @property {import("./state/stats.js").Stats} stats
 * @property {import("./state/memory.js").UserMemory} memory
 * @property {readonly import("./state/log.js").Row[]} log
 * @property {Failure | null} failure the problem shown to the user now
 */

/** @type {State} */
export const INITIAL_STATE = Object.freeze({
  phase: "loading",
  step: "",
  attempt: 0,
  floor: "closed",
  config: null,
  session: null,
  microphone: Object.freeze({ mode: "unknown", muted: false, pushToTalk: false, talking: false, chosen: "", devices: Object.freeze([]) }),
  speaker: Object.freeze({ choosable: false, chosen: "", devices: Object.freeze([]) }),
  interruptions: Object.freeze({ allowed: true, chosen: false }),
  transcript: EMPTY_TRANSCRIPT,
  tally: NO_TALLY,
  thinkers: Object.freeze([]),
  tasks: NO_TASKS,
  unreadable: ALL_READABLE,
  notices: NO_NOTICES,
  reminders: NO_REMINDERS,
  confirmations: NO_CONFIRMATIONS,
  recording: NOT_RECORDED,
  turns: NO_TURNS,
  stats: NO_STATS,
  memory: NOTHING_KNOWN,
  log: Object.freeze([]),
  failure: null,
});

/**
 * The change each action makes; an unknown one changes nothing but the log.
 * @type {Record<string, (state: State, data: any, at: number) => Partial<State>>}
 */
const CHANGES = {
  page_configured: (state, config) => ({
    config,
    phase: state.phase === "loading" ? "ready" : state.phase,
    ...(state.interruptions.chosen ? {} : { interruptions: { allowed: config.interruptions ?? true, chosen: false } }),
  }),
  page_loading_changed: (state, { loading }) => ({ config: { ...state.config, loading } }),
  page_connecting: (state, { step, again = false }) => ({
    phase: state.phase === "reconnecting" ? "reconnecting" : "connecting",
    step,
    floor: "closed",
    failure: null,
    ...(UNDER_WAY.has(state.phase) ? {} : FRESH_CALL),
    ...(again || UNDER_WAY.has(state.phase) ? {} : FRESH_CONVERSATION),
  }),
  page_connected: (state, { again = false }, at) => ({
    phase: "connected",
    attempt: 0,
    failure: state.phase === "reconnecting" ? null : state.failure,
    ...(again ? { transcript: noted(state.transcript, t("talk.reconnected"), at) } : {}),
  }),
  page_reconnecting: (state, { attempt, failure }) => ({
    phase: "reconnecting",
    floor: "closed",
    attempt,
    failure,
    thinkers: abandonUnfinished(state.thinkers),
    transcript: silenced(state.transcript),
  }),
  page_new_conversation: (state) => ({
    ...FRESH_CALL,
    ...FRESH_CONVERSATION,
    phase: state.phase === "loading" ? "loading" : "ready",
    floor: "closed",
    failure: null,
  }),
  page_conversation_recalled: (_, { messages }) => ({ transcript: recalled(messages) }),
  page_shaky: (state) => (state.phase === "connected" ? { phase: "shaky" } : {}),
  page_steady: (state) => (state.phase === "shaky" ? { phase: "connected" } : {}),
  page_closed: (state) => closed(state, state.failure),
  page_failed: (_, failure) => ({ failure }),
  page_failure_dismissed: () => ({ failure: null }),
  page_microphone: (state, changes) => ({ microphone: { ...state.microphone, ...changes } }),
  page_speaker: (state, changes) => ({ speaker: { ...state.speaker, ...changes } }),
  page_interruptions: (_, { allowed }) => ({ interruptions: { allowed, chosen: true } }),
  page_thinker_asked: (state, data) => ({ thinkers: askedOfThinker(state.thinkers, data) }),
  page_transcript_loaded: (state, { messages, prefix }) => ({ transcript: rebuilt(state.transcript, messages, prefix) }),

  session_started: (state, session) => ({
    session,
    floor: "listening",
    interruptions: { ...state.interruptions, allowed: session.interruptions ?? state.interruptions.allowed },
  }),
  responder_changed: (state, { state: line, responder, model, pictures }) =>
    line === "lost" ? {} : { failure: null, session: responder ? { ...state.session, responder, model, pictures } : state.session },
  floor: (state, { floor }) => ({
    floor,
    transcript: floor === "user" && !USERS_TURN.has(state.floor) ? userSpeaks(state.transcript) : state.transcript,
  }),
  interruptions: (_, { allowed }) => ({ interruptions: { allowed, chosen: true } }),
  murmur: (state, data, at) => ({ transcript: murmured(state.transcript, data, at) }),
  transcript_delta: (state, data, at) => ({ transcript: addDelta(state.transcript, data, at) }),
  transcript_done: (state, data, at) => ({ transcript: generated(state.transcript, data, at) }),
  transcript: (state, data, at) => ({ transcript: settled(state.transcript, data, at) }),
  transcript_interrupted: (state, data, at) => ({ transcript: interrupted(state.transcript, data, at) }),
  thinker: (state, data, at) => ({
    thinkers: thinkerReported(state.thinkers, data, at),
    transcript: answered(state.transcript, data),
  }),
  error: (_, data) => ({ failure: reportedError(data) }),
  session_ended: (state, { reason }) => closed(state, sessionEndedFailure(reason) ?? state.failure),
};

/** The state in which a new call begins. The log continues: it belongs to the page, not to one call. */
const FRESH_CALL = { session: null, tally: NO_TALLY, attempt: 0, recording: NOT_RECORDED };
/** The state in which a new conversation begins. */
const FRESH_CONVERSATION = { transcript: EMPTY_TRANSCRIPT, thinkers: Object.freeze([]) };
/** The floor of a turn that has begun, and may go on after a pause. */
const USERS_TURN = new Set(["user", "pausing"]);
const UNDER_WAY = new Set(["connecting", "reconnecting"]);

/** True if there is a connection to talk over. @param {State} state */
export function isLive({ phase }) {
  return phase === "connected" || phase === "shaky";
}

/** True if the model of the call under way sees pictures; before one, that of the next. @param {State} state */
export function seesPictures({ session, config }) {
  return Boolean(session ? session.pictures : config?.responder?.pictures);
}

/** True if a connection is being made, or made again. @param {State} state */
export function isDialling({ phase }) {
  return UNDER_WAY.has(phase);
}

/** @param {State} state @param {Failure | null} failure @returns {Partial<State>} */
function closed(state, failure) {
  const { thinkers, transcript } = state;
  return { phase: "ended", floor: "closed", failure, thinkers: abandonUnfinished(thinkers), transcript: silenced(transcript) };
}

/** @param {State} state @param {Action} action @returns {State} */
export function reduce(state, { type, data = {}, at = 0 }) {
  const changes = CHANGES[type]?.(state, data, at) ?? {};
  const next = { ...state, ...changes };
  return { ...next, ...partsAfter(next, { type, data, at }) };
}

/** The parts that receive every action and pick what concerns them. @param {State} state @param {Action} action */
function partsAfter(state, action) {
  const { type, data, at = 0 } = action;
  return {
    tally: tallyAfter(state.tally, action),
    tasks: tasksAfter(state.tasks, action),
    unreadable: unreadableAfter(state.unreadable, action),
    notices: noticesAfter(state.notices, action),
    reminders: remindersAfter(state.reminders, action),
    confirmations: confirmationsAfter(state.confirmations, action),
    recording: recordingAfter(state.recording, action),
    turns: turnsAfter(state.turns, action),
    stats: statsAfter(state.stats, action),
    memory: memoryAfter(state.memory, action),
    log: type.startsWith("page_") ? state.log : logged(state.log, type, data, at),
  };
}

/** The delay of notifications where nothing is drawn, as in a tab in the background. */
const UNDRAWN_MS = 100;

/** The state. Its subscribers are called once per drawn frame, however many changes there were. */
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
      requestAnimationFrame(() => this.#emit());
      setTimeout(() => this.#emit(), UNDRAWN_MS);
    }
    this.state = reduce(this.state, { type, data, at: Date.now() });
  }

  /**
   * Calls `subscriber` now and after every change.
   * @param {(state: State, before: State | Record<string, never>) => void} subscriber
   * @returns {() => void} ends it
   */
  subscribe(subscriber) {
    this.#subscribers.add(subscriber);
    subscriber(this.state, {});
    return () => void this.#subscribers.delete(subscriber);
  }

  #emit() {
    const before = this.#before;
    if (!before) return;
    this.#before = null;
    for (const subscriber of this.#subscribers) subscriber(this.state, before);
  }
}
