/**
 * The session's server-sent events, resumed after an interruption.
 *
 * They are read by `fetch`, since an `EventSource` can send no token: it would be of no use to pages of other sites, or
 * where cookies are off. A stream that breaks is asked for again, less and less often, after the last event received.
 */

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
    this.lastId = "";
    this.closed = false;
    this.retryMs = FIRST_RETRY_MS;
    this.reading = new AbortController();
    void this.#read();
  }

  close() {
    this.closed = true;
    this.reading.abort();
    clearTimeout(this.timer);
  }

  /** Read until the stream ends or breaks, then come back unless the session is over. */
  async #read() {
    const response = await this.#ask();
    if (this.closed) return;
    if (response?.status === 204) return void this.close(); // it has ended, and nothing is left
    if (response?.status === 404) {
      this.close();
      this.onGone(this.hasOpened);
      return;
    }
    if (!response) this.onAway();
    if (response?.ok && response.body) await this.#follow(response.body).catch(() => {});
    else void response?.body?.cancel();
    if (this.closed) return;
    this.timer = setTimeout(() => this.#read(), this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LAST_RETRY_MS);
  }

  /** @returns {Promise<Response | null>} null: no answer at all */
  #ask() {
    const headers = { Authorization: `Bearer ${this.session.token}`, ...(this.lastId && { "Last-Event-ID": this.lastId }) };
    const url = `${this.server.url}/api/events/${encodeURIComponent(this.session.id)}`;
    return fetch(url, { headers, cache: "no-store", signal: this.reading.signal }).catch(() => null);
  }

  /** @param {ReadableStream<Uint8Array>} body */
  async #follow(body) {
    this.hasOpened = true;
    this.retryMs = FIRST_RETRY_MS;
    const decoder = new TextDecoder();
    const reader = body.getReader();
    let rest = "";
    for (let piece = await reader.read(); !piece.done && !this.closed; piece = await reader.read()) {
      const events = (rest + decoder.decode(piece.value, { stream: true })).split("\n\n");
      rest = events.pop() ?? "";
      for (const each of events) this.#receive(each);
    }
  }

  /** @param {string} text one event, or a comment */
  #receive(text) {
    const fields = Object.fromEntries(text.split("\n").map((line) => [line.split(":", 1)[0], line.slice(line.indexOf(":") + 2)]));
    if (this.closed || !fields.event) return;
    if (fields.id) this.lastId = fields.id;
    try {
      this.onEvent(fields.event, JSON.parse(fields.data));
    } catch (error) {
      reportError(error); // a fault of the page's costs this event, and the stream goes on
    }
    if (fields.event === "session_ended") this.close();
  }
}
