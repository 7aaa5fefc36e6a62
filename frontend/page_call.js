/** Tells the store what happens to the call: its client's events become the page's actions, and its failures words. */

import {
  AUTOPLAY_REFUSED,
  CONNECTION_LOST,
  MICROPHONE_LOST,
  microphoneFailure,
  NEVER_CONNECTED,
  OFFLINE,
  reconnecting,
  requestFailure,
  SESSION_GONE,
  SOUND_LOST,
} from "./failures.js";

/** @typedef {import("./failures.js").Failure} Failure */

/** The words of what ended a call. @type {Record<string, (error: unknown) => Failure>} */
const FAILURES = {
  microphone: microphoneFailure,
  request: (error) => requestFailure(error, Date.now()),
  "session-gone": () => SESSION_GONE,
  "never-connected": () => NEVER_CONNECTED,
  "connection-lost": () => CONNECTION_LOST,
  offline: () => OFFLINE,
};

/** The words of what a call survives. @type {Record<string, (error: unknown) => Failure>} */
const PROBLEMS = {
  microphone: (error) => ({ ...microphoneFailure(error), ways: ["dismiss"] }),
  "microphone-lost": () => MICROPHONE_LOST,
  "sound-lost": () => SOUND_LOST,
  "autoplay-refused": () => AUTOPLAY_REFUSED,
};

/**
 * The change of the store that each event of the client's means; the server's own events go in under their names.
 * @type {Record<string, (store: import("./store.js").Store, data: any) => void>}
 */
const ACTIONS = {
  connecting: (store, data) => store.dispatch("page_connecting", data),
  connected: (store, data) => store.dispatch("page_connected", data),
  shaky: (store) => store.dispatch("page_shaky"),
  steady: (store) => store.dispatch("page_steady"),
  reconnecting: (store, { attempt, online }) => store.dispatch("page_reconnecting", { attempt, failure: reconnecting(online) }),
  closed: (store) => store.dispatch("page_closed"),
  failed: (store, { cause, error }) => store.dispatch("page_failed", FAILURES[cause](error)),
  problem: (store, { cause, error }) => store.dispatch("page_failed", PROBLEMS[cause](error)),
  sound: (store) => store.state.failure === AUTOPLAY_REFUSED && store.dispatch("page_failure_dismissed"),
  microphone: (store, data) => store.dispatch("page_microphone", data),
  speaker: (store, data) => store.dispatch("page_speaker", data),
  stream: () => {},
};

/** @param {import("./client/voice_client.js").VoiceClient} client @param {import("./store.js").Store} store */
export function followCall(client, store) {
  store.dispatch("page_speaker", client.audio.speaker);
  client.on("*", (type, data) => (ACTIONS[type] ? ACTIONS[type](store, data) : store.dispatch(type, data)));
}
