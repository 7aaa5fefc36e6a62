/**
 * A call that stays up: it dials over WebRTC, falls back to a WebSocket where UDP is blocked, and dials again in the same
 * conversation when the connection is lost.
 *
 * Every attempt has a number. Whatever an earlier attempt still reports is ignored.
 */

import { waitBefore } from "./backoff.js";
import { abandon, hangUp } from "./connection.js";
import { EventStream } from "./event_stream.js";
import { ApiError } from "./server.js";
import { WebRtcCall } from "./webrtc_call.js";
import { WebSocketCall } from "./websocket_call.js";

/** The time the server's last events, with the reason of the end, may take to arrive after hanging up. */
const LAST_EVENTS_MS = 2_000;
/** The time without any packet after which a server that cannot be reached otherwise is gone; silence is sent every 400 ms. */
const AWAY_MS = 1_200;
/** Reasons of `session_ended` after which the call is dialled again. */
const COMES_BACK = new Set(["network_lost", "shutdown", "error"]);

/**
 * @typedef {import("./server.js").Session} Session
 * @typedef {import("./connection.js").Connection["kind"]} Kind
 *
 * `microphone` the browser did not give it · `request` the server refused, or did not answer · `session-gone` it does not
 * know the session · `never-connected` no transport got through · `connection-lost` · `offline` this device is
 * @typedef {"microphone" | "request" | "session-gone" | "never-connected" | "connection-lost" | "offline"} Cause
 *
 * @typedef {object} Surroundings
 * @property {import("./server.js").Server} server
 * @property {import("./call_audio.js").CallAudio} audio
 * @property {Kind} transport the one to begin with; a call falls back to the WebSocket by itself
 * @property {(type: string, data?: any) => void} emit
 * @property {(session: Session, prefix: string, type: string, data: any) => void} received an event of the server's;
 *   prefix: of the item ids of this connection
 * @property {() => Promise<RTCIceServer[]>} iceServers
 * @property {() => Promise<import("./server.js").Opening>} opening what the next session is asked for with
 */

export class ReconnectingCall {
  /** @type {import("./connection.js").Connection | null} */
  connection = null;
  /** The conversation on the server, which outlives its calls. @type {string | undefined} */
  conversationId = undefined;
  /** The number of connections this conversation has had, which keeps their item ids apart. */
  connections = 0;
  /** @type {EventStream | null} */
  #events = null;
  /** The transport of the next connection. @type {Kind} */
  #kind;
  #attempt = 0;
  /** The number of times a lost connection was dialled again; 0 while it stands. */
  #retries = 0;
  /** True while packets have stopped and may resume. */
  #shaky = false;
  /** True once this call has been connected. */
  #reached = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;

  /** @param {Surroundings} surroundings */
  constructor({ server, audio, transport, emit, received, iceServers, opening }) {
    this.server = server;
    this.audio = audio;
    this.transport = this.#kind = transport;
    this.emit = emit;
    this.received = received;
    this.iceServers = iceServers;
    this.opening = opening;
  }

  /** Open the microphone and dial; while waiting to dial again, dial immediately. @param {boolean} silent the caller only types */
  async start(silent) {
    if (this.#retries) return this.#tryNow();
    if (this.connection) return;
    this.#events?.close();
    this.#reached = false;
    this.#kind = this.transport;
    if (this.conversationId === undefined) this.connections = 0;
    const attempt = ++this.#attempt;
    this.emit("connecting", { step: "microphone", again: this.#isContinued });
    if (await this.#openAudio(silent, attempt)) await this.#dial(attempt);
  }

  /** End the call. Resolves when the server knows, or cannot be reached. */
  async hangUp() {
    this.#attempt += 1;
    const [connection, events] = [this.connection, this.#events];
    this.#release();
    this.emit("closed");
    setTimeout(() => events?.close(), LAST_EVENTS_MS);
    if (connection) await hangUp(this.server, connection);
  }

  /** End the call, if there is one, and leave the conversation: the next call begins a new one. */
  leaveConversation() {
    this.#attempt += 1;
    this.#events?.close();
    if (this.connection) void hangUp(this.server, this.connection);
    this.#release();
    this.conversationId = undefined;
    this.connections = 0;
  }

  /** Let the next call go on with an earlier conversation. @param {string} id */
  continueConversation(id) {
    this.conversationId = id;
    this.connections = 1;
  }

  /** End the call while the page is being left; a browser that keeps the page must not show a call that has ended. */
  abandon() {
    if (!this.connection && !this.#retries) return;
    this.#attempt += 1;
    if (this.connection) abandon(this.server, this.connection);
    this.#events?.close();
    this.#release();
    this.emit("closed");
  }

  // --- dialling ------------------------------------------------------------------------------------------

  /** @param {boolean} silent @param {number} attempt */
  async #openAudio(silent, attempt) {
    try {
      return await this.audio.open(silent, () => attempt === this.#attempt);
    } catch (error) {
      if (attempt === this.#attempt) this.#fail("microphone", error);
      return false;
    }
  }

  get #isContinued() {
    return this.conversationId !== undefined;
  }

  /** @param {number} attempt */
  async #dial(attempt) {
    const step = this.#kind === this.transport ? "answer" : "fallback";
    if (!this.#retries) this.emit("connecting", { step, again: this.#isContinued });
    const iceServers = this.#kind === "websocket" ? [] : await this.iceServers();
    if (attempt !== this.#attempt) return;
    const connection = new (this.#kind === "websocket" ? WebSocketCall : WebRtcCall)({
      server: this.server,
      context: this.audio.context,
      iceServers,
      stream: /** @type {MediaStream} */ (this.audio.stream),
      onState: (state) => attempt === this.#attempt && this.#stateChanged(state),
      onVoice: (voice) => attempt === this.#attempt && this.audio.play(voice),
    });
    this.connection = connection;
    this.audio.attach(connection);
    try {
      await connection.dial({ ...(await this.opening()), conversation_id: this.conversationId });
    } catch (error) {
      if (attempt === this.#attempt) this.#refused(error);
      return;
    }
    if (attempt === this.#attempt && connection.session) this.#follow(connection.session, attempt);
  }

  /** A first call that is refused (by a full server, say) fails; a lost one keeps trying. @param {unknown} error */
  #refused(error) {
    const waitS = error instanceof ApiError ? (error.retryAfterS ?? 0) : 0;
    if (this.#retries) this.#tryLater(Date.now() + waitS * 1000);
    else this.#fail("request", error);
  }

  /** @param {import("./connection.js").ConnectionState} state */
  #stateChanged(state) {
    if (state === "connected") this.#connected();
    else if (state === "shaky") {
      this.#shaky = true;
      this.emit("shaky");
    }
    else if (state === "never") this.#neverConnected();
    else this.#lost();
  }

  #connected() {
    if (this.#shaky) {
      this.#shaky = false;
      return this.emit("steady");
    }
    this.emit("connected", { again: this.connections > 0 });
    this.connections += 1;
    this.#reached = true;
    this.#retries = 0;
  }

  /** UDP may be blocked: try the WebSocket, the last transport there is. */
  #neverConnected() {
    if (this.#kind === "webrtc") {
      this.#kind = "websocket";
      this.#events?.close();
      this.#dropConnection();
      void this.#dial(++this.#attempt);
    } else if (this.#retries) this.#tryLater();
    else this.#fail(navigator.onLine ? "never-connected" : "offline");
  }

  #lost() {
    if (this.#reached) this.#tryLater();
    else this.#fail(navigator.onLine ? "connection-lost" : "offline");
  }

  /** @param {number} [notBefore] page clock, ms */
  #tryLater(notBefore = 0) {
    const attempt = ++this.#attempt;
    this.#dropConnection();
    this.#events?.close();
    this.#retries += 1;
    const wait = waitBefore(this.#retries);
    if (wait === null) return this.#fail(navigator.onLine ? "connection-lost" : "offline");
    this.emit("reconnecting", { attempt: this.#retries, online: navigator.onLine });
    this.#retryTimer = setTimeout(() => this.#tryAgain(attempt), Math.max(wait, notBefore - Date.now()));
  }

  /** Dial again, or without a network wait for the browser's `online`. @param {number} attempt */
  #tryAgain(attempt) {
    if (attempt !== this.#attempt) return;
    if (navigator.onLine) return void this.#dial(attempt);
    addEventListener("online", () => this.#tryAgain(attempt), { once: true });
  }

  #tryNow() {
    clearTimeout(this.#retryTimer);
    this.#tryAgain(this.#attempt);
  }

  // --- the server's events -------------------------------------------------------------------------------

  /** @param {Session} session @param {number} attempt */
  #follow(session, attempt) {
    this.conversationId = session.conversation ?? this.conversationId;
    const prefix = this.connections ? `${this.connections + 1}/` : "";
    /** @param {string} type @param {any} data */
    const receive = (type, data) => {
      if (attempt !== this.#attempt && type !== "session_ended") return;
      this.received(session, prefix, type, data.item_id ? { ...data, item_id: prefix + data.item_id } : data);
      if (type === "session_ended") this.#ended(data.reason, attempt);
    };
    this.#events = new EventStream(
      this.server,
      session,
      receive,
      (wasThere) => attempt === this.#attempt && this.#gone(wasThere),
      () => attempt === this.#attempt && void this.#away(attempt),
    );
  }

  /** The server does not know the session: after a restart it still has the conversation. @param {boolean} wasThere */
  #gone(wasThere) {
    if (wasThere && this.#reached) this.#tryLater();
    else this.#fail("session-gone");
  }

  /** The server cannot be asked: if no sound comes from it either, the connection is lost, long before WebRTC says so. @param {number} attempt */
  async #away(attempt) {
    const before = await packetsFrom(this.connection);
    await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    const after = await packetsFrom(this.connection);
    if (attempt === this.#attempt && before !== null && before === after) this.#lost();
  }

  /** @param {string} reason @param {number} attempt */
  #ended(reason, attempt) {
    if (attempt === this.#attempt && this.#reached && COMES_BACK.has(reason)) this.#tryLater();
    else this.#release();
  }

  // --- the end -------------------------------------------------------------------------------------------

  /** @param {Cause} cause @param {unknown} [error] the browser's, or an `ApiError` */
  #fail(cause, error) {
    const { connection } = this;
    this.#attempt += 1;
    this.#release();
    this.#events?.close();
    if (connection) void hangUp(this.server, connection);
    this.emit("failed", { cause, error });
    this.emit("closed");
  }

  /** Give up the connection but keep the microphone; the server is informed if it can still be reached. */
  #dropConnection() {
    this.#shaky = false;
    if (this.connection) void hangUp(this.server, this.connection);
    this.connection = null;
    this.audio.detach();
  }

  /** Release the connection and its sound. */
  #release() {
    clearTimeout(this.#retryTimer);
    this.#shaky = false;
    this.#retries = 0;
    this.connection?.close();
    this.connection = null;
    this.audio.close();
  }
}

/** The audio packets received so far; null where there is no connection, or it has no statistics. @param {import("./connection.js").Connection | null} connection */
async function packetsFrom(connection) {
  const report = (await connection?.statistics().catch(() => null)) ?? null;
  if (!report) return null;
  const inbound = [...report.values()].filter(({ type, kind }) => type === "inbound-rtp" && kind === "audio");
  return inbound.reduce((sum, { packetsReceived = 0 }) => sum + packetsReceived, 0);
}
