/**
 * A call that stays up: it dials over WebRTC, falls back to a WebSocket where UDP is blocked, and dials again in the same
 * conversation when the connection is lost.
 *
 * Every attempt has a number. Whatever an earlier attempt still reports is ignored.
 */

import { postIceServers } from "./api.js";
import { waitBefore } from "./backoff.js";
import { abandon, hangUp } from "./connection.js";
import { EventStream } from "./event_stream.js";
import { comesBack, CONNECTION_LOST, microphoneFailure, NEVER_CONNECTED, OFFLINE, reconnecting, requestFailure, SESSION_GONE } from "./failures.js";
import { fingerprintIfReady } from "./fingerprint.js";
import { WebRtcCall } from "./webrtc_call.js";
import { WebSocketCall } from "./websocket_call.js";

/** The time the server's last events, with the reason of the end, may take to arrive after hanging up. */
const LAST_EVENTS_MS = 2_000;
/** The time without any packet after which a server that cannot be reached otherwise is gone; silence is sent every 400 ms. */
const AWAY_MS = 1_200;
/** The URL switch `?transport=websocket` connects without UDP from the start. */
const PREFERRED = new URLSearchParams(location.search).get("transport") === "websocket" ? "websocket" : "webrtc";

/** @typedef {import("./connection.js").Session} Session */
/** @typedef {(type: string, session: Session, prefix: string) => void} OnEvent  prefix: of the item ids of this connection */

export class ReconnectingCall {
  /** @type {import("./connection.js").Connection | null} */
  connection = null;
  /** The conversation on the server, which outlives its calls. @type {string | undefined} */
  conversationId = undefined;
  /** The number of connections this conversation has had, which keeps their item ids apart. */
  connections = 0;
  /** @type {EventStream | null} */
  #events = null;
  /** @type {import("./connection.js").Connection["kind"]} the transport of the next connection */
  #kind = PREFERRED;
  #attempt = 0;
  /** The number of times a lost connection was dialled again; 0 while it stands. */
  #retries = 0;
  /** True once this call has been connected. */
  #reached = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retryTimer;

  /**
   * @param {import("./store.js").Store} store
   * @param {import("./call_audio.js").CallAudio} audio
   * @param {OnEvent} onEvent called after the store has taken an event of the server
   */
  constructor(store, audio, onEvent) {
    this.store = store;
    this.audio = audio;
    this.onEvent = onEvent;
  }

  /** Open the microphone and dial; while waiting to dial again, do so at once. @param {boolean} silent the caller only types */
  async start(silent) {
    if (this.#retries) return this.#tryNow();
    if (this.connection) return;
    this.#events?.close();
    this.#reached = false;
    this.#kind = PREFERRED;
    if (this.conversationId === undefined) this.connections = 0;
    const attempt = ++this.#attempt;
    this.store.dispatch("page_connecting", { step: "microphone", again: this.#isContinued });
    if (await this.#openAudio(silent, attempt)) await this.#dial(attempt);
  }

  /** End the call. Resolves when the server knows, or cannot be reached. */
  async hangUp() {
    this.#attempt += 1;
    const [connection, events] = [this.connection, this.#events];
    this.#release();
    this.store.dispatch("page_closed");
    setTimeout(() => events?.close(), LAST_EVENTS_MS);
    if (connection) await hangUp(connection);
  }

  /** End the call, if there is one, and leave the conversation: the next call begins a new one. */
  leaveConversation() {
    this.#attempt += 1;
    this.#events?.close();
    if (this.connection) void hangUp(this.connection);
    this.#release();
    this.conversationId = undefined;
    this.connections = 0;
  }

  /** End the call while the page is being left; a browser that keeps the page must not show a call that has ended. */
  abandon() {
    if (!this.connection && !this.#retries) return;
    this.#attempt += 1;
    if (this.connection) abandon(this.connection);
    this.#events?.close();
    this.#release();
    this.store.dispatch("page_closed");
  }

  // --- dialling ------------------------------------------------------------------------------------------

  /** @param {boolean} silent @param {number} attempt */
  async #openAudio(silent, attempt) {
    try {
      return await this.audio.open(silent, () => attempt === this.#attempt);
    } catch (error) {
      if (attempt === this.#attempt) this.#fail(microphoneFailure(error));
      return false;
    }
  }

  /** Where TURN is offered, its credentials are made for each call; without them a call may still do. */
  async #iceServers() {
    const { turn = false, ice_servers = [] } = this.store.state.config ?? {};
    if (!turn || this.#kind === "websocket") return ice_servers;
    return postIceServers().then(
      (given) => given.ice_servers,
      () => ice_servers,
    );
  }

  get #isContinued() {
    return this.conversationId !== undefined;
  }

  /** @param {number} attempt */
  async #dial(attempt) {
    const step = this.#kind === PREFERRED ? "answer" : "fallback";
    if (!this.#retries) this.store.dispatch("page_connecting", { step, again: this.#isContinued });
    const iceServers = await this.#iceServers();
    if (attempt !== this.#attempt) return;
    const connection = new (this.#kind === "websocket" ? WebSocketCall : WebRtcCall)({
      context: this.audio.context,
      iceServers,
      stream: /** @type {MediaStream} */ (this.audio.stream),
      onState: (state) => attempt === this.#attempt && this.#stateChanged(state),
      onVoice: (voice) => attempt === this.#attempt && this.audio.play(voice),
    });
    this.connection = connection;
    this.audio.attach(connection);
    try {
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      const { chosen, allowed } = this.store.state.interruptions;
      const wishes = { conversation_id: this.conversationId, ...(chosen && { interruptions: allowed }) };
      await connection.dial({ fingerprint: await fingerprintIfReady(), time_zone: zone, ...wishes });
    } catch (error) {
      if (attempt === this.#attempt) this.#refused(requestFailure(error, Date.now()));
      return;
    }
    if (attempt === this.#attempt && connection.session) this.#follow(connection.session, attempt);
  }

  /** A first call that is refused (by a full server, say) fails; a lost one keeps trying. @param {import("./failures.js").Failure} failure */
  #refused(failure) {
    if (this.#retries) this.#tryLater(failure.retryAt);
    else this.#fail(failure);
  }

  /** @param {import("./connection.js").ConnectionState} state */
  #stateChanged(state) {
    if (state === "connected") this.#connected();
    else if (state === "shaky") this.store.dispatch("page_shaky");
    else if (state === "never") this.#neverConnected();
    else this.#lost();
  }

  #connected() {
    if (this.store.state.phase === "shaky") return this.store.dispatch("page_steady");
    this.store.dispatch("page_connected", { again: this.connections > 0 });
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
    else this.#fail(navigator.onLine ? NEVER_CONNECTED : OFFLINE);
  }

  #lost() {
    if (this.#reached) this.#tryLater();
    else this.#fail(navigator.onLine ? CONNECTION_LOST : OFFLINE);
  }

  /** @param {number} [notBefore] page clock, ms */
  #tryLater(notBefore = 0) {
    const attempt = ++this.#attempt;
    this.#dropConnection();
    this.#events?.close();
    this.#retries += 1;
    const wait = waitBefore(this.#retries);
    if (wait === null) return this.#fail(navigator.onLine ? CONNECTION_LOST : OFFLINE);
    this.store.dispatch("page_reconnecting", { attempt: this.#retries, failure: reconnecting(navigator.onLine) });
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
      this.store.dispatch(type, data.item_id ? { ...data, item_id: prefix + data.item_id } : data);
      this.onEvent(type, session, prefix);
      if (type === "session_ended") this.#ended(data.reason, attempt);
    };
    this.#events = new EventStream(
      session,
      receive,
      (wasThere) => attempt === this.#attempt && this.#gone(wasThere),
      () => attempt === this.#attempt && void this.#away(attempt),
    );
  }

  /** The server does not know the session: after a restart it still has the conversation. @param {boolean} wasThere */
  #gone(wasThere) {
    if (wasThere && this.#reached) this.#tryLater();
    else this.#fail(SESSION_GONE);
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
    if (attempt === this.#attempt && this.#reached && comesBack(reason)) this.#tryLater();
    else this.#release();
  }

  // --- the end -------------------------------------------------------------------------------------------

  /** @param {import("./failures.js").Failure} failure */
  #fail(failure) {
    const { connection } = this;
    this.#attempt += 1;
    this.#release();
    this.#events?.close();
    if (connection) void hangUp(connection);
    this.store.dispatch("page_failed", failure);
    this.store.dispatch("page_closed");
  }

  /** Give up the connection but keep the microphone; the server is informed if it can still be reached. */
  #dropConnection() {
    if (this.connection) void hangUp(this.connection);
    this.connection = null;
    this.audio.detach();
  }

  /** Release the connection and its sound. */
  #release() {
    clearTimeout(this.#retryTimer);
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
