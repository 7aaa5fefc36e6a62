/**
 * Every failure in words for the user, with buttons for what to do next. Pure: errors in, words out; the view shows them.
 */

import { ApiError } from "./api.js";

/**
 * `retry` connect again · `type` connect without a microphone · `sound` allow sound · `stop` trying · `dismiss` close
 * @typedef {"retry" | "type" | "sound" | "stop" | "dismiss"} WayOn
 * @typedef {object} Failure
 * @property {string} kind a stable name
 * @property {string} title what happened, in one sentence
 * @property {string} hint what to do about it
 * @property {readonly WayOn[]} ways the most useful first
 * @property {number} [retryAt] page clock, ms: trying again makes no sense before
 */

/** The browser refused the microphone, or there is none. @param {unknown} error @returns {Failure} */
export function microphoneFailure(error) {
  const name = error instanceof Error ? error.name : "";
  return MICROPHONE[name] ?? MICROPHONE.other;
}

/** @type {Record<string, Failure>} */
const MICROPHONE = {
  NotAllowedError: failure(
    "microphone-refused",
    "The browser blocked the microphone.",
    "Allow it in the address bar and try again, or type instead: you will still hear the answers.",
    ["retry", "type"],
  ),
  NotFoundError: failure(
    "microphone-absent",
    "No microphone was found.",
    "Plug one in and try again, or type instead: you will still hear the answers.",
    ["retry", "type"],
  ),
  OverconstrainedError: failure(
    "microphone-absent",
    "The chosen microphone is no longer available.",
    "Choose another one and try again, or type instead.",
    ["retry", "type"],
  ),
  NotReadableError: failure(
    "microphone-busy",
    "The microphone is in use by another program.",
    "Close that program and try again, or type instead.",
    ["retry", "type"],
  ),
  InsecureContext: failure(
    "microphone-insecure",
    "Browsers allow the microphone on secure pages only.",
    "Open this page over https:// or on localhost, or type instead.",
    ["type"],
  ),
  other: failure(
    "microphone-failed",
    "The microphone could not be opened.",
    "Check it in the system's settings and try again, or type instead.",
    ["retry", "type"],
  ),
};

/** @type {Failure} */
export const MICROPHONE_LOST = failure(
  "microphone-lost",
  "The microphone was disconnected.",
  "You can continue by typing. To speak again, hang up, choose a microphone and start a new call.",
  ["dismiss"],
);

/**
 * A request was refused, or got no answer.
 * @param {unknown} error
 * @param {number} now page clock, ms
 * @returns {Failure}
 */
export function requestFailure(error, now) {
  if (!(error instanceof ApiError)) return brokenCall(error);
  if (error.status === 0) return unreachable();
  if (error.status === 429 || (error.status === 503 && error.retryAfterS !== null)) return serverFull(error, now);
  if (error.status === 404) return SESSION_GONE;
  if (error.status === 403) {
    return failure("refused", "The server does not accept calls from this address.", error.hint || "Ask its operator for access.", ["retry"]);
  }
  const title = error.status >= 500 ? "The server could not answer." : error.message;
  return failure("server-error", title, error.hint || "Try again in a moment.", ["retry"]);
}

/** Seconds above which a wait is no matter of a call that ends. */
const LONG_WAIT_S = 120;

/** @param {ApiError} error @param {number} now @returns {Failure} */
function serverFull(error, now) {
  const seconds = error.retryAfterS ?? 15;
  const detail = seconds > LONG_WAIT_S ? error.hint || "Try again later." : "A place should be free soon.";
  return {
    ...failure("server-full", error.message || "The server is busy.", detail, ["retry"]),
    retryAt: now + seconds * 1000,
  };
}

/** @returns {Failure} */
function unreachable() {
  if (!navigator.onLine) return OFFLINE;
  return failure("unreachable", "The server is not responding.", "Check that it is running, then try again.", ["retry"]);
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
  "Connect to a network, then try again.",
  ["retry"],
);

/** @type {Failure} */
export const SESSION_GONE = failure(
  "session-gone",
  "This conversation is over, or belongs to another browser.",
  "Start a new one.",
  ["retry"],
);

/** @type {Failure} */
export const NEVER_CONNECTED = failure(
  "never-connected",
  "The audio connection could not be established.",
  "Neither UDP nor a WebSocket reached the server. Try again, or try another network.",
  ["retry"],
);

/** @type {Failure} */
export const CONNECTION_LOST = failure(
  "connection-lost",
  "The connection was lost.",
  "Check the network, then try again.",
  ["retry"],
);

/**
 * The connection was lost and is being re-established.
 * @param {boolean} online
 * @returns {Failure}
 */
export function reconnecting(online) {
  return online ? RECONNECTING : WAITING_FOR_NETWORK;
}

const RECONNECTING = failure(
  "reconnecting",
  "The connection was lost.",
  "Reconnecting automatically. The conversation is kept.",
  ["retry", "stop"],
);
const WAITING_FOR_NETWORK = failure(
  "reconnecting",
  "This device is offline.",
  "The conversation continues as soon as the network is back.",
  ["stop"],
);

/** @type {Failure} */
export const SOUND_LOST = failure(
  "sound-lost",
  "The chosen speaker could not be used.",
  "The default speaker is used instead. You can choose another one in the sound settings.",
  ["dismiss"],
);

/** @type {Failure} */
export const AUTOPLAY_REFUSED = failure(
  "autoplay-refused",
  "The browser has blocked the sound.",
  "Click once more to hear the answers.",
  ["sound"],
);

/**
 * A problem the server reports while the call continues.
 * @param {{message: string, hint?: string}} data
 * @returns {Failure}
 */
export function reportedError({ message, hint }) {
  return failure("reported-by-server", message, hint || "", ["dismiss"]);
}

/** The failure that ended a session, if any. @param {string} reason @returns {Failure | null} */
export function sessionEndedFailure(reason) {
  return (isOperators() ? OPERATORS[reason] : undefined) ?? ENDINGS[reason] ?? null;
}

/** True where the page was opened on the machine that serves it: whoever sees it can mend the server. */
function isOperators() {
  return ["localhost", "127.0.0.1", "[::1]"].includes(globalThis.location?.hostname ?? "");
}

/** What whoever runs the server is told instead. @type {Record<string, Failure>} */
const OPERATORS = {
  responder_refused: failure(
    "responder-refused",
    "The provider refused the call.",
    "Check the key in .env (OPENAI_API_KEY, or that of your provider) and its credit, then restart. `responder-thinker doctor` tries it.",
    ["retry"],
  ),
  responder_gone: failure(
    "responder-gone",
    "The provider cannot be reached.",
    "Check this machine's network and OPENAI_BASE_URL. `responder-thinker doctor` tries it.",
    ["retry"],
  ),
};

/** @type {Record<string, Failure>} */
const ENDINGS = {
  network_lost: CONNECTION_LOST,
  never_connected: NEVER_CONNECTED,
  idle: failure("ended-idle", "The call ended because nobody spoke for a while.", "Start a new one whenever you like.", ["retry"]),
  shutdown: failure("ended-shutdown", "The server is restarting.", "Try again in a moment.", ["retry"]),
  max_minutes: failure("ended-max", "The call reached its time limit.", "Start another one to continue.", ["retry"]),
  budget: failure("ended-budget", "The voice budget for today is used up.", "It begins anew at midnight UTC.", []),
  responder_gone: failure(
    "responder-gone",
    "The voice service is not responding.",
    "Try again in a moment. If the problem stays, ask the operator of this server.",
    ["retry"],
  ),
  responder_refused: failure(
    "responder-refused",
    "The voice service is not available right now.",
    "This is not your fault. Please try again later.",
    ["retry"],
  ),
  operator: failure("ended-operator", "The operator of this server ended the call.", "Start a new one.", ["retry"]),
  error: failure("ended-error", "The call ended because of an error in the server.", "Try again.", ["retry"]),
};

/** @param {string} kind @param {string} title @param {string} hint @param {WayOn[]} ways @returns {Failure} */
function failure(kind, title, hint, ways) {
  return Object.freeze({ kind, title, hint, ways: Object.freeze(ways) });
}
