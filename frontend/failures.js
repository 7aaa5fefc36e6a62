/**
 * Every failure in words for the user, with buttons for what to do next. Pure: errors in, words out; the view shows them.
 * The words of a failure are looked up when they are read, since most failures are made before any text is loaded.
 */

import { ApiError } from "./api.js";
import { saysAsServer, t } from "./texts.js";

/**
 * @typedef {import("./texts.js").Key} Key
 *
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
  NotAllowedError: failure("microphone-refused", "failure.microphone_refused", ["retry", "type"]),
  NotFoundError: failure("microphone-absent", "failure.microphone_absent", ["retry", "type"]),
  OverconstrainedError: failure("microphone-absent", "failure.microphone_gone", ["retry", "type"]),
  NotReadableError: failure("microphone-busy", "failure.microphone_busy", ["retry", "type"]),
  InsecureContext: failure("microphone-insecure", "failure.microphone_insecure", ["type"]),
  other: failure("microphone-failed", "failure.microphone_failed", ["retry", "type"]),
};

/** @type {Failure} */
export const MICROPHONE_LOST = failure("microphone-lost", "failure.microphone_lost", ["dismiss"]);

/**
 * A request was refused, or got no answer.
 * @param {unknown} error
 * @param {number} now page clock, ms
 * @returns {Failure}
 */
export function requestFailure(error, now) {
  if (!(error instanceof ApiError)) return brokenCall(error);
  if (error.status === 0) return navigator.onLine ? UNREACHABLE : OFFLINE;
  if (error.status === 429 || (error.status === 503 && error.retryAfterS !== null)) return serverFull(error, now);
  if (error.status === 404) return SESSION_GONE;
  if (error.status === 403) return { ...REFUSED, hint: saysAsServer(error.hint) || REFUSED.hint };
  const title = error.status >= 500 ? "" : saysAsServer(error.message);
  return { ...SERVER_ERROR, title: title || SERVER_ERROR.title, hint: saysAsServer(error.hint) || SERVER_ERROR.hint };
}

const REFUSED = failure("refused", "failure.refused", ["retry"]);
const SERVER_ERROR = failure("server-error", "failure.server_error", ["retry"]);
const SERVER_FULL = failure("server-full", "failure.server_full", ["retry"]);
const UNREACHABLE = failure("unreachable", "failure.unreachable", ["retry"]);
const CALL_FAILED = failure("call-failed", "failure.call_failed", ["retry"]);

/** Seconds above which a wait is no matter of a call that ends. */
const LONG_WAIT_S = 120;

/** @param {ApiError} error @param {number} now @returns {Failure} */
function serverFull(error, now) {
  const seconds = error.retryAfterS ?? 15;
  const hint = seconds > LONG_WAIT_S ? saysAsServer(error.hint) || t("failure.server_full.later") : SERVER_FULL.hint;
  return { ...SERVER_FULL, title: saysAsServer(error.message) || SERVER_FULL.title, hint, retryAt: now + seconds * 1000 };
}

/** @param {unknown} error @returns {Failure} */
function brokenCall(error) {
  const detail = error instanceof Error ? error.message : String(error);
  return { ...CALL_FAILED, hint: t("failure.call_failed.hint", { detail }) };
}

/** @type {Failure} */
export const OFFLINE = failure("offline", "failure.offline", ["retry"]);

/** @type {Failure} */
export const SESSION_GONE = failure("session-gone", "failure.session_gone", ["retry"]);

/** @type {Failure} */
export const NEVER_CONNECTED = failure("never-connected", "failure.never_connected", ["retry"]);

/** @type {Failure} */
export const CONNECTION_LOST = failure("connection-lost", "failure.connection_lost", ["retry"]);

/**
 * The connection was lost and is being re-established.
 * @param {boolean} online
 * @returns {Failure}
 */
export function reconnecting(online) {
  return online ? RECONNECTING : WAITING_FOR_NETWORK;
}

const RECONNECTING = failure("reconnecting", "failure.connection_lost", ["retry", "stop"], "failure.reconnecting.hint");
const WAITING_FOR_NETWORK = failure("reconnecting", "failure.offline", ["stop"], "failure.waiting.hint");

/** @type {Failure} */
export const SOUND_LOST = failure("sound-lost", "failure.sound_lost", ["dismiss"]);

/** @type {Failure} */
export const AUTOPLAY_REFUSED = failure("autoplay-refused", "failure.autoplay", ["sound"]);

/** @type {Failure} */
export const PICTURE_UNSEEN = failure("picture-unseen", "failure.picture_unseen", ["dismiss"]);

/** @type {Failure} */
export const PICTURE_UNREADABLE = failure("picture-unreadable", "failure.picture_unreadable", ["dismiss"]);

/**
 * A problem the server reports while the call continues: in the page's words where it names one, else in the server's.
 * @param {{message: string, hint?: string, problem?: string}} data
 * @returns {Failure}
 */
export function reportedError({ message, hint, problem = "" }) {
  const said = { title: message, hint: hint || "" };
  const words = problem === "responder_complained" ? { title: t("problem.responder_complained"), hint: message } : said;
  return PROBLEMS[problem] ?? { kind: "reported-by-server", ...words, ways: ["dismiss"] };
}

/** @type {Record<string, Failure>} */
const PROBLEMS = {
  call_failed: failure("reported-by-server", "failure.error", ["dismiss"], "failure.server_error.hint"),
  no_reply: failure("reported-by-server", "problem.no_reply", ["dismiss"]),
  reply_too_long: failure("reported-by-server", "problem.reply_too_long", ["dismiss"]),
  responder_lost: failure("reported-by-server", "problem.responder_lost", ["dismiss"]),
  responder_gone: failure("reported-by-server", "failure.voice_gone", ["dismiss"], "failure.server_error.hint"),
};

/** The failure that ended a session, if any. @param {string} reason @returns {Failure | null} */
export function sessionEndedFailure(reason) {
  return (isOperators() ? OPERATORS[reason] : undefined) ?? ENDINGS[reason] ?? null;
}

/** True where the page was opened on the machine that serves it: its reader can mend the server. */
function isOperators() {
  return ["localhost", "127.0.0.1", "[::1]"].includes(globalThis.location?.hostname ?? "");
}

/** What a reader who runs the server sees instead. @type {Record<string, Failure>} */
const OPERATORS = {
  responder_refused: failure("responder-refused", "failure.provider_refused", ["retry"]),
  responder_gone: failure("responder-gone", "failure.provider_gone", ["retry"]),
};

/** @type {Record<string, Failure>} */
const ENDINGS = {
  network_lost: CONNECTION_LOST,
  never_connected: NEVER_CONNECTED,
  idle: failure("ended-idle", "failure.idle", ["retry"]),
  shutdown: failure("ended-shutdown", "failure.shutdown", ["retry"], "failure.server_error.hint"),
  max_minutes: failure("ended-max", "failure.max_minutes", ["retry"]),
  budget: failure("ended-budget", "failure.budget", []),
  responder_gone: failure("responder-gone", "failure.voice_gone", ["retry"]),
  responder_refused: failure("responder-refused", "failure.voice_refused", ["retry"]),
  operator: failure("ended-operator", "failure.operator", ["retry"], "failure.session_gone.hint"),
  error: failure("ended-error", "failure.error", ["retry"], "failure.server_error.hint"),
};

/**
 * @param {string} kind
 * @param {Key} title
 * @param {WayOn[]} ways
 * @param {Key} [hint] where it is not the title's own
 * @returns {Failure}
 */
function failure(kind, title, ways, hint = /** @type {Key} */ (`${title}.hint`)) {
  return Object.freeze({
    kind,
    get title() {
      return t(title);
    },
    get hint() {
      return t(hint);
    },
    ways: Object.freeze(ways),
  });
}
