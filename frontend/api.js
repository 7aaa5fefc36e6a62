/** The server's HTTP interface, one function per route. Every failure is an `ApiError`. */

const TIMEOUT_MS = 15_000;

/** A refused or lost request. `status` 0: no answer at all. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {string} [hint] @param {number | null} [retryAfterS] */
  constructor(status, message, hint = "", retryAfterS = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.hint = hint;
    this.retryAfterS = retryAfterS;
  }
}

/** @returns {Promise<any>} who answers, ICE servers, Thinkers, limits */
export function getConfig() {
  return request("GET", "/api/config");
}

/**
 * The request for a new session: a hint at the browser, the conversation to continue, if any, and whether the caller's
 * voice may interrupt, where the caller has chosen.
 * @typedef {{fingerprint?: string, time_zone?: string, conversation_id?: string, interruptions?: boolean}} Opening
 * @typedef {{session_id: string, conversation_id?: string, token: string}} Ticket
 */

/** @param {string} sdp @param {Opening} opening @returns {Promise<Ticket & {sdp: string}>} */
export function postOffer(sdp, opening) {
  return request("POST", "/api/rtc/offer", { sdp, ...opening });
}

/** The servers the next call may use, with credentials for TURN that expire. @returns {Promise<{ice_servers: RTCIceServer[]}>} */
export function postIceServers() {
  return request("POST", "/api/rtc/ice-servers");
}

/** A session for the WebSocket. @param {Opening} opening @returns {Promise<Ticket>} */
export function postSession(opening) {
  return request("POST", "/api/sessions", opening);
}

/** @param {{id: string, token: string}} session */
export function postDisconnect({ id, token }) {
  return request("POST", "/api/rtc/disconnect", { session_id: id, token });
}

/**
 * The same while the page goes away: queued by the browser, answer unread.
 * @param {{id: string, token: string}} session
 */
export function beaconDisconnect({ id, token }) {
  navigator.sendBeacon("/api/rtc/disconnect", JSON.stringify({ session_id: id, token }));
}

/** Typed input. @param {{id: string, token: string}} session @param {string} text */
export function postMessage({ id, token }, text) {
  return request("POST", `/api/sessions/${encodeURIComponent(id)}/messages`, { text }, token);
}

/**
 * @param {{id: string, token: string}} session
 * @param {string} call the Thinker's
 * @param {"cancel" | "say"} what say: speak an answer that came too late
 */
export function postThinker({ id, token }, call, what) {
  const path = `/api/sessions/${encodeURIComponent(id)}/thinkers/${encodeURIComponent(call)}/${what}`;
  return request("POST", path, undefined, token);
}

/** Whether the caller's voice may interrupt replies. @param {{id: string, token: string}} session @param {boolean} allowed */
export function postInterruptions({ id, token }, allowed) {
  return request("POST", `/api/sessions/${encodeURIComponent(id)}/interruptions`, { allowed }, token);
}

/** @param {{id: string, token: string}} session */
export function getSession({ id, token }) {
  return request("GET", `/api/sessions/${encodeURIComponent(id)}`, undefined, token);
}

/** Whether users may sign in here, and whether this one has. @returns {Promise<{offered: boolean, signed_in: boolean}>} */
export function getSignIn() {
  return request("GET", "/auth/state");
}

/** Sign out, in every browser. */
export function postSignOut() {
  return request("POST", "/auth/logout");
}

/** A ticket that opens the session's event stream once. @param {{id: string, token: string}} session @returns {Promise<{ticket: string}>} */
export function postTicket({ id, token }) {
  return request("POST", "/api/tickets", { session_id: id }, token);
}

/** @param {{id: string, token: string}} session @returns {Promise<{messages: any[]}>} */
export function getTranscript({ id, token }) {
  return request("GET", `/api/sessions/${encodeURIComponent(id)}/transcript`, undefined, token);
}

/** All that was said in a conversation of the user's, by voice and text. @param {string} id @returns {Promise<{messages: any[]}>} */
export function getConversation(id) {
  return request("GET", `/api/conversations/${encodeURIComponent(id)}`);
}

/**
 * The user's conversations, the latest first: those with these words in them, and before this Unix time.
 * @param {{words?: string, before?: number}} [wanted]
 * @returns {Promise<{conversations: {id: string, title?: string, messages: number, updated_at: number}[]}>}
 */
export function getConversations({ words = "", before } = {}) {
  const query = new URLSearchParams(words ? { q: words } : {});
  if (before !== undefined) query.set("before", String(before));
  return request("GET", `/api/conversations?${query}`);
}

/** Delete a conversation for good. @param {string} id */
export function deleteConversation(id) {
  return request("DELETE", `/api/conversations/${encodeURIComponent(id)}`);
}

/** The user's background tasks, newest first. @returns {Promise<{tasks: any[]}>} */
export function getTasks() {
  return request("GET", "/api/tasks");
}

/** @param {string} id */
export function postTaskCancel(id) {
  return request("POST", `/api/tasks/${encodeURIComponent(id)}/cancel`);
}

/** The user's reminders, the next one first. @returns {Promise<{notifications: any[]}>} */
export function getReminders() {
  return request("GET", "/notification/me");
}

/** @param {string} id */
export function deleteReminder(id) {
  return request("DELETE", `/notification/me/${encodeURIComponent(id)}`);
}

/** The user has this notice before their eyes. @param {string} id @returns {Promise<{still_waited: boolean}>} */
export function postSeen(id) {
  return request("POST", `/api/me/notices/${encodeURIComponent(id)}/seen`);
}

/** What the user is asked to agree to. @returns {Promise<{confirmations: any[]}>} */
export function getConfirmations() {
  return request("GET", "/api/confirmations");
}

/** @param {string} id @param {boolean} agreed */
export function postConfirmation(id, agreed) {
  return request("POST", `/api/confirmations/${encodeURIComponent(id)}`, { agreed });
}

/** The profile of the user. @returns {Promise<import("./state/memory.js").Known>} */
export function getMe() {
  return request("GET", "/api/me");
}

/**
 * Change it: all of the changes or none.
 * @param {readonly Record<string, any>[]} changes
 * @returns {Promise<import("./state/memory.js").Known>}
 */
export function patchMe(changes) {
  return request("PATCH", "/api/me", { changes });
}

/** End the user's calls and erase all that is known of them. */
export function deleteMe() {
  return request("DELETE", "/api/me");
}

/** The status of an answer that asks a stranger for a proof of work. */
const WORK_REQUIRED = 428;

/** @param {string} method @param {string} path @param {any} [body] @param {string} [token] */
export async function request(method, path, body, token) {
  const first = await send(method, path, body, token);
  if (first.response.status !== WORK_REQUIRED || !first.answer.error?.challenge) return taken(first);
  const { proofOf } = await import("./proof_of_work.js");
  return taken(await send(method, path, body, token, await proofOf(first.answer.error)));
}

/** @param {{response: Response, answer: any}} received @returns {any} */
function taken({ response, answer }) {
  if (!response.ok) throw refusal(response, answer.error ?? {});
  return answer;
}

/** @param {string} method @param {string} path @param {any} [body] @param {string} [token] @param {string} [proof] */
async function send(method, path, body, token, proof) {
  const headers = {
    ...(body && { "Content-Type": "application/json" }),
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(proof && { "Proof-Of-Work": proof }),
  };
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    throw new ApiError(0, error instanceof Error ? error.message : "no answer");
  }
  return { response, answer: await response.json().catch(() => ({})) };
}

/** @param {Response} response @param {{message?: string, hint?: string}} error */
function refusal(response, { message, hint }) {
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const retryAfterS = Number.isFinite(wait) ? wait : null;
  return new ApiError(response.status, message ?? `The server answered ${response.status}.`, hint, retryAfterS);
}
