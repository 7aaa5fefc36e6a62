/**
 * Every failure in its own words, with a way on. Pure: errors in, words out; the view shows them.
 */

import { ApiError } from "./api.js";

/**
 * `retry` connect again · `type` connect without a microphone · `hear` allow sound · `stop` trying · `dismiss` read, go on
 * @typedef {"retry" | "type" | "hear" | "stop" | "dismiss"} WayOn
 * @typedef {object} Failure
 * @property {string} kind a stable name
 * @property {string} title what happened, in one sentence
 * @property {string} hint what to do about it
 * @property {readonly WayOn[]} ways the most useful first
 * @property {number} [retryAt] page clock, ms: trying again makes no sense before
 */

/** The browser said no, or has nothing to hear with. @param {unknown} error @returns {Failure} */
export function microphoneFailure(error) {
  const name = error instanceof Error ? error.name : "";
  return MICROPHONE[name] ?? MICROPHONE.other;
}

/** @type {Record<string, Failure>} */
const MICROPHONE = {
  NotAllowedError: failure(
    "microphone-refused",
    "The browser did not give us the microphone.",
    "Allow it in the address bar and try again, or go on by typing: you will still hear the answers.",
    ["retry", "type"],
  ),
  NotFoundError: failure(
    "microphone-absent",
    "No microphone was found.",
    "Plug one in and try again, or go on by typing: you will still hear the answers.",
    ["retry", "type"],
  ),
  OverconstrainedError: failure(
    "microphone-absent",
    "The chosen microphone is not there any more.",
    "Choose another one and try again, or go on by typing.",
    ["retry", "type"],
  ),
  NotReadableError: failure(
    "microphone-busy",
    "The microphone is in use by another program.",
    "Close that program and try again, or go on by typing.",
    ["retry", "type"],
  ),
  InsecureContext: failure(
    "microphone-insecure",
    "Browsers give the microphone to secure pages only.",
    "Open this page over https:// or on localhost, or go on by typing.",
    ["type"],
  ),
  other: failure(
    "microphone-failed",
    "The microphone could not be opened.",
    "Check it in the system's settings and try again, or go on by typing.",
    ["retry", "type"],
  ),
};

/** @type {Failure} */
export const MICROPHONE_LOST = failure(
  "microphone-lost",
  "The microphone went away.",
  "You can go on by typing; to speak again, disconnect, choose a microphone and connect.",
  ["dismiss"],
);

/**
 * A request was refused, or never arrived.
 * @param {unknown} error
 * @param {number} now page clock, ms
 * @returns {Failure}
 */
export function requestFailure(error, now) {
  if (!(error instanceof ApiError)) return brokenCall(error);
  if (error.status === 0) return unreachable();
  if (error.status === 429) return serverFull(error, now);
  if (error.status === 404) return SESSION_GONE;
  if (error.status === 403) {
    return failure("refused", "The server refuses calls from this address.", error.hint || "Ask who runs it.", ["retry"]);
  }
  const title = error.status >= 500 ? "The server could not answer." : error.message;
  return failure("server-error", title, error.hint || "Try again in a moment.", ["retry"]);
}

/** @param {ApiError} error @param {number} now @returns {Failure} */
function serverFull(error, now) {
  const seconds = error.retryAfterS ?? 15;
  return {
    ...failure("server-full", error.message || "All lines are busy.", "A line will be free soon.", ["retry"]),
    retryAt: now + seconds * 1000,
  };
}

/** @returns {Failure} */
function unreachable() {
  if (!navigator.onLine) return OFFLINE;
  return failure("unreachable", "The server does not answer.", "Check that it is running, then try again.", ["retry"]);
}

/** @param {unknown} error @returns {Failure} */
function brokenCall(error) {
  const detail = error instanceof Error ? error.message : String(error);
  return failure("call-failed", "The call could not be set up.", `The browser says: ${detail}`, ["retry"]);
}

/** @type {Failure} */
export const OFFLINE = failure(
  "offline",
  "This device is offline.",
  "Connect it to the network, then try again.",
  ["retry"],
);

/** @type {Failure} */
export const SESSION_GONE = failure(
  "session-gone",
  "This conversation is over, or belongs to another browser.",
  "Connect to begin a new one.",
  ["retry"],
);

/** @type {Failure} */
export const NEVER_CONNECTED = failure(
  "never-connected",
  "The audio connection did not come up.",
  "Neither UDP nor a WebSocket got through to the server. Try again, or try another network.",
  ["retry"],
);

/** @type {Failure} */
export const CONNECTION_LOST = failure(
  "connection-lost",
  "The connection was lost.",
  "Check the network, then connect again.",
  ["retry"],
);

/**
 * The line broke, and is being made anew by itself.
 * @param {boolean} online
 * @returns {Failure}
 */
export function reconnecting(online) {
  return online ? RECONNECTING : WAITING_FOR_NETWORK;
}

const RECONNECTING = failure(
  "reconnecting",
  "The connection broke off.",
  "Connecting again by itself; nothing of the conversation is lost.",
  ["retry", "stop"],
);
const WAITING_FOR_NETWORK = failure(
  "reconnecting",
  "This device is offline.",
  "The conversation goes on by itself as soon as the network is back.",
  ["stop"],
);

/** Whether a call that ended so is worth making again by itself. @param {string} reason of `session_ended` */
export function comesBack(reason) {
  return reason === "network_lost" || reason === "shutdown" || reason === "error";
}

/** @type {Failure} */
export const SOUND_LOST = failure(
  "sound-lost",
  "The chosen speaker could not be used.",
  "The system's default plays the answers now; choose another one under Sound.",
  ["dismiss"],
);

/** @type {Failure} */
export const AUTOPLAY_REFUSED = failure(
  "autoplay-refused",
  "The browser keeps the sound off.",
  "It wants one more click before it lets you hear the answers.",
  ["hear"],
);

/**
 * A problem the server tells of while the call goes on.
 * @param {{message: string, hint?: string}} data
 * @returns {Failure}
 */
export function spokenError({ message, hint }) {
  return failure("told-by-server", message, hint || "", ["dismiss"]);
}

/** Why a session ended, unless nothing went wrong. @param {string} reason @returns {Failure | null} */
export function sessionEndedFailure(reason) {
  return ENDINGS[reason] ?? null;
}

/** @type {Record<string, Failure>} */
const ENDINGS = {
  network_lost: CONNECTION_LOST,
  never_connected: NEVER_CONNECTED,
  idle: failure("ended-idle", "The call ended because it was quiet for a while.", "Connect whenever you like.", ["retry"]),
  shutdown: failure("ended-shutdown", "The server is being restarted.", "Try again in a moment.", ["retry"]),
  max_minutes: failure("ended-max", "The call reached its longest time.", "Connect to go on.", ["retry"]),
  responder_gone: failure(
    "responder-gone",
    "The voice service went away.",
    "Try again in a moment; if it stays away, ask who runs this server.",
    ["retry"],
  ),
  operator: failure("ended-operator", "The call was ended by who runs this server.", "Connect to begin a new one.", ["retry"]),
  error: failure("ended-error", "The call ended because of a fault in the server.", "Try again.", ["retry"]),
};

/** @param {string} kind @param {string} title @param {string} hint @param {WayOn[]} ways @returns {Failure} */
function failure(kind, title, hint, ways) {
  return Object.freeze({ kind, title, hint, ways: Object.freeze(ways) });
}
