/**
 * The session's server-sent events, resumed after an interruption.
 *
 * The browser itself reconnects a broken stream and names the last event it received; but it gives up for good when a
 * reconnection is answered with an error (a proxy's 502, say). Then we ask for the reason, and retry less and less often.
 */

import { ApiError } from "./server.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8_000;

/** The events a session sends, as docs/api.md describes them. */
export const EVENT_TYPES = Object.freeze([
  "session_started",
  "responder_changed",
  "floor",
  "transcript_delta",
  "transcript_done",
  "transcript",
  "transcript_interrupted",
  "thinker",
  "turn_metrics",
  "answer_metrics",
  "murmur",
  "reply_discarded",
  "reply_failed",
  "usage",
  "interruptions",
  "recording",
  "audio_playback_finished",
  "keys_pressed",
  "session_idle_nudge",
  "session_idle_disconnect",
  "session_ended",
  "notice",
  "decision",
  "task",
  "reminder",
  "user_context",
  "confirmation.asked",
  "confirmation.answered",
  "error",
  "gap",
]);

export class EventStream {
  /**
   * @param {import("./server.js").Server} server
   * @param {import("./server.js").Session} session
   * @param {(type: string, data: any) => void} onEvent
   * @param {(wasThere: boolean) => void} onGone the session no longer exists, or is no longer ours; whether it ever was
   * @param {() => void} onAway the server cannot be reached just now
   */
  constructor(server, session, onEvent, onGone, onAway) {
    this.server = server;
    this.session = session;
    this.onEvent = onEvent;
    this.onGone = onGone;
    this.onAway = onAway;
    this.hasOpened = false;
    this.withTicket = server.isForeign;
    this.lastId = "";
    this.closed = false;
    this.retryMs = FIRST_RETRY_MS;
    this.#open();
  }

  close() {
    this.closed = true;
    this.source?.close();
    clearTimeout(this.timer);
  }

  async #open() {
    const ticket = this.withTicket ? await this.server.postTicket(this.session).catch(() => undefined) : undefined;
    if (this.closed) return;
    const source = new EventSource(this.#address(ticket?.ticket));
    this.source = source;
    source.addEventListener("open", () => this.#opened());
    for (const type of EVENT_TYPES) source.addEventListener(type, (event) => this.#receive(type, event));
    // The stream's own errors and the session's `error` events share a name; only the latter carry data.
    source.addEventListener("error", (event) => event instanceof MessageEvent || this.#failed(source));
  }

  /** @param {string | undefined} ticket */
  #address(ticket) {
    const query = new URLSearchParams();
    if (this.lastId) query.set("after", this.lastId);
    if (ticket) query.set("ticket", ticket);
    return `${this.server.url}/api/events/${encodeURIComponent(this.session.id)}${query.size ? `?${query}` : ""}`;
  }

  #opened() {
    this.hasOpened = true;
    this.retryMs = FIRST_RETRY_MS;
  }

  /** @param {string} type @param {Event} event */
  #receive(type, event) {
    if (!(event instanceof MessageEvent) || this.closed) return;
    if (event.lastEventId) this.lastId = event.lastEventId;
    this.onEvent(type, JSON.parse(event.data));
    if (type === "session_ended") this.close();
  }

  /** @param {EventSource} source */
  #failed(source) {
    if (this.closed) return;
    if (source.readyState !== EventSource.CLOSED && !this.withTicket) return void this.#probe();
    source.close(); // the browser would come back with the same ticket
    this.timer = setTimeout(() => this.#tryAgain(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
  }

  /** Ask for the session itself, since the stream gives no reason for a failure. Resolves to the refusal, if any. */
  async #probe() {
    const refusal = await this.server.getSession(this.session).then(() => null, (error) => error);
    if (this.closed || !(refusal instanceof ApiError)) return refusal;
    if (refusal.status === 404) {
      this.close();
      this.onGone(this.hasOpened);
    } else if (refusal.status === 0) this.onAway();
    return refusal;
  }

  async #tryAgain() {
    const refusal = await this.#probe();
    if (this.closed) return;
    // The session is ours, yet the stream never opened: cookies are off. Only then a ticket that is good once goes into the
    // address, which proxies may write down.
    this.withTicket ||= !refusal && !this.hasOpened;
    this.#open();
  }
}
