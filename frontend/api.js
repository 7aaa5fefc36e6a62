/** The server's HTTP interface, one function per route. Every failure is an `ApiError`. */

import { Server } from "./client/server.js";

export { ApiError } from "./client/server.js";

/** @typedef {import("./client/server.js").Session} Session */

const server = new Server();

/** @param {string} method @param {string} path @param {any} [body] @param {string} [token] @returns {Promise<any>} */
export function request(method, path, body, token) {
  return server.request(method, path, body, token);
}

/** @returns {Promise<any>} who answers, ICE servers, Thinkers, limits */
export function getConfig() {
  return request("GET", "/api/config");
}

/**
 * @param {Session} session
 * @param {string} call the Thinker's
 * @param {"cancel" | "say"} what say: speak a late answer now
 */
export function postThinker(session, call, what) {
  return server.ofSession("POST", session, `/thinkers/${encodeURIComponent(call)}/${what}`);
}

/**
 * Say that the caller agrees to a recording from now on, or end it. This takes their cookie: the call's token cannot agree.
 * @param {Session} session @param {boolean} on
 */
export function postRecording({ id }, on) {
  return request("POST", `/api/sessions/${encodeURIComponent(id)}/recording`, { on });
}

/** The user's recordings, newest first, and whether calls may be recorded here. @returns {Promise<{offered: boolean, recordings: import("./state/playback.js").Recorded[]}>} */
export function getRecordings() {
  return request("GET", "/api/recordings");
}

/** What was said in a recording, and when. @param {string} id @returns {Promise<import("./state/playback.js").Transcribed>} */
export function getRecording(id) {
  return request("GET", `/api/recordings/${encodeURIComponent(id)}`);
}

/** @param {string} id */
export function deleteRecording(id) {
  return request("DELETE", `/api/recordings/${encodeURIComponent(id)}`);
}

/** The links of the user's that work, and for how many days a new one may. @returns {Promise<{days: number, links: import("./view/sharing.js").Link[]}>} */
export function getLinks() {
  return request("GET", "/api/links");
}

/** Make a public link to a conversation as it is now. @param {string} id @param {number} days */
export function postLink(id, days) {
  return request("POST", `/api/conversations/${encodeURIComponent(id)}/links`, { days });
}

/** @param {string} id */
export function deleteLink(id) {
  return request("DELETE", `/api/links/${encodeURIComponent(id)}`);
}

/** Whether users may sign in here, whether this one has, and whether a visitor left something. @returns {Promise<{offered: boolean, signed_in: boolean, left: boolean}>} */
export function getSignIn() {
  return request("GET", "/auth/state");
}

/** Begin to sign in, and take along what the visitor left. @returns {Promise<{location: string}>} the provider's page */
export function postSignIn() {
  return request("POST", "/auth/login");
}

/** Sign out, in every browser. @returns {Promise<{location?: string}>} where the provider ends its own session */
export function postSignOut() {
  return request("POST", "/auth/logout");
}

/** @param {Session} session @returns {Promise<{messages: any[]}>} */
export function getTranscript(session) {
  return server.ofSession("GET", session, "/transcript");
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
