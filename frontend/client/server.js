/** A voice server's HTTP interface: requests of the caller's own, and those of a call. Every failure is an `ApiError`. */

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

/**
 * The request for a new session.
 * @typedef {{fingerprint?: string, time_zone?: string, conversation_id?: string, interruptions?: boolean}} Opening
 * @typedef {{session_id: string, conversation_id?: string, token: string}} Ticket
 * @typedef {{id: string, token: string, conversation?: string}} Session
 */

export class Server {
  /**
   * @param {object} [options]
   * @param {string} [options.url] the server's origin; "" for the page's own
   * @param {string | (() => Promise<string>) | null} [options.token] an API key's token, or what fetches one; none: the cookie's user
   */
  constructor({ url = "", token = null } = {}) {
    this.url = url.replace(/\/$/, "");
    this.token = token;
  }

  /** True for a page of another origin, which the server's cookies never reach. */
  get isForeign() {
    return this.url !== "" && this.url !== location.origin;
  }

  // --- the caller ----------------------------------------------------------------------------------------

  /** @returns {Promise<any>} the Responder, ICE servers, Thinkers, limits */
  async getConfig() {
    return this.request("GET", "/api/config", undefined, await this.#ownToken());
  }

  /** @param {string} sdp @param {Opening} opening @returns {Promise<Ticket & {sdp: string}>} */
  async postOffer(sdp, opening) {
    return this.request("POST", "/api/rtc/offer", { sdp, ...opening }, await this.#ownToken());
  }

  /** The servers the next call may use, with credentials for TURN that expire. @returns {Promise<{ice_servers: RTCIceServer[]}>} */
  async postIceServers() {
    return this.request("POST", "/api/rtc/ice-servers", undefined, await this.#ownToken());
  }

  /** A session for the WebSocket. @param {Opening} opening @returns {Promise<Ticket>} */
  async postSession(opening) {
    return this.request("POST", "/api/sessions", opening, await this.#ownToken());
  }

  // --- a call --------------------------------------------------------------------------------------------

  /** @param {Session} session */
  postDisconnect({ id, token }) {
    return this.request("POST", "/api/rtc/disconnect", { session_id: id, token }, this.isForeign ? token : undefined);
  }

  /** The same while the page goes away: queued by the browser, answer unread. @param {Session} session */
  beaconDisconnect({ id, token }) {
    const body = JSON.stringify({ session_id: id, token });
    if (!this.isForeign) return void navigator.sendBeacon(`${this.url}/api/rtc/disconnect`, body);
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    void fetch(`${this.url}/api/rtc/disconnect`, { method: "POST", headers, body, keepalive: true }).catch(() => {});
  }

  /** Typed input. @param {Session} session @param {string} text */
  postMessage(session, text) {
    return this.ofSession("POST", session, "/messages", { text });
  }

  /** A picture, as a data URL. @param {Session} session @param {string} picture @param {string} text */
  postPicture(session, picture, text) {
    return this.ofSession("POST", session, "/pictures", { picture, text });
  }

  /** Whether the caller's voice may interrupt replies. @param {Session} session @param {boolean} allowed */
  postInterruptions(session, allowed) {
    return this.ofSession("POST", session, "/interruptions", { allowed });
  }

  /** @param {Session} session */
  getSession(session) {
    return this.ofSession("GET", session, "");
  }

  /** @param {string} method @param {Session} session @param {string} path below the session's @param {any} [body] */
  ofSession(method, { id, token }, path, body) {
    return this.request(method, `/api/sessions/${encodeURIComponent(id)}${path}`, body, token);
  }

  // --- any request ---------------------------------------------------------------------------------------

  /** @param {string} method @param {string} path @param {any} [body] @param {string} [token] @returns {Promise<any>} */
  async request(method, path, body, token) {
    const headers = {
      ...(body && { "Content-Type": "application/json" }),
      ...(token && { Authorization: `Bearer ${token}` }),
    };
    let response;
    try {
      response = await fetch(this.url + path, {
        method,
        headers,
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      throw new ApiError(0, error instanceof Error ? error.message : "no answer");
    }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw refusal(response, answer.error ?? {});
    return answer;
  }

  async #ownToken() {
    return (typeof this.token === "function" ? await this.token() : this.token) ?? undefined;
  }
}

/** @param {Response} response @param {{message?: string, hint?: string}} error */
function refusal(response, { message, hint }) {
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const retryAfterS = Number.isFinite(wait) ? wait : null;
  return new ApiError(response.status, message ?? `The server answered ${response.status}.`, hint, retryAfterS);
}
