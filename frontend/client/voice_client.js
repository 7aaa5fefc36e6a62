/**
 * A voice call from a web page, to its own server or another's: connect, mute, type, and hear of what happens.
 *
 *     import { VoiceClient } from "https://voice.example/client/index.js";
 *
 *     const client = new VoiceClient({ url: "https://voice.example", token: fetchToken });
 *     client.on("transcript", ({ role, content }) => console.log(role, content));
 *     await client.connect();
 *
 * Events of the server come under their own names (docs/api.md), what happens to the call under those of `index.d.ts`.
 */

import { CallAudio } from "./call_audio.js";
import { watchDevices } from "./devices.js";
import { ReconnectingCall } from "./reconnecting_call.js";
import { Server } from "./server.js";

/**
 * @typedef {import("./server.js").Session} Session
 * @typedef {import("./server.js").Opening} Opening
 *
 * @typedef {object} Options
 * @property {string} [url] the server's origin; left out: the page's own
 * @property {string | (() => Promise<string>) | null} [token] an API key's token, or what fetches one
 * @property {HTMLAudioElement} [audio] plays the assistant's voice
 * @property {"webrtc" | "websocket"} [transport] the one to begin with; a call falls back to the WebSocket by itself
 * @property {boolean} [processed] whether the browser cancels echo, suppresses noise and sets the gain; false only to measure
 * @property {string} [conversation] a conversation to go on with
 * @property {() => Promise<Opening>} [opening] what else a session is asked for with
 */

export class VoiceClient {
  /** @type {Map<string, Set<(data: any, more?: any) => void>>} */
  #listeners = new Map();
  /** @type {Promise<any> | null} */
  #config = null;

  /** @param {Options} [options] */
  constructor({ url = "", token = null, audio = new Audio(), transport = "webrtc", processed = true, conversation, opening } = {}) {
    this.server = new Server({ url, token });
    this.audio = new CallAudio(audio, processed, {
      onMicrophone: (microphone) => this.#emit("microphone", microphone),
      onSpeaker: (speaker) => this.#emit("speaker", speaker),
      onProblem: (problem, error) => this.#emit("problem", { cause: problem, error }),
      onSound: () => this.#emit("sound"),
      onStream: (direction, stream, context) => this.#emit("stream", { direction, stream, context }),
    });
    this.call = new ReconnectingCall({
      server: this.server,
      audio: this.audio,
      transport,
      emit: (type, data) => this.#emit(type, data),
      received: (session, prefix, type, data) => this.#emit(type, data, { session, prefix }),
      iceServers: () => this.#iceServers(),
      opening: async () => ({ time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone, ...(await opening?.()) }),
    });
    this.call.conversationId = conversation;
    watchDevices(() => void this.audio.refreshDevices());
    addEventListener("pagehide", () => this.call.abandon());
  }

  /**
   * Call `listener` for every event of a type, or with "*" for all events: `(type, data, more)`. The events of the server have
   * the session and the prefix of its item ids in `more`.
   * @param {string} type
   * @param {(...given: any[]) => void} listener
   * @returns {() => void} ends it
   */
  on(type, listener) {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Place a call, or dial a lost one immediately. @param {{silent?: boolean}} [options] silent: the caller only types */
  connect({ silent = false } = {}) {
    return this.call.start(silent);
  }

  /** End the call. Resolves when the server knows, or cannot be reached. */
  disconnect() {
    return this.call.hangUp();
  }

  /** @param {boolean} [muted] */
  mute(muted = true) {
    this.audio.mute(muted);
  }

  /** Type into the call; the answer is spoken. Rejects with an `ApiError`, or with an `Error` where there is no call. @param {string} text */
  async type(text) {
    await this.server.postMessage(this.#inCall(), text);
  }

  /**
   * Show the model a picture, with typed words or without. Rejects as `type` does, and where the model sees none.
   * @param {string} picture a JPEG or PNG of at most 512 KB, as a data URL
   * @param {string} [text]
   */
  async show(picture, text = "") {
    await this.server.postPicture(this.#inCall(), picture, text);
  }

  /** Whether the caller's voice may interrupt replies. @param {boolean} allowed */
  async allowInterruptions(allowed) {
    await this.server.postInterruptions(this.#inCall(), allowed);
  }

  /** The session of the call under way. @returns {Session | null} */
  get session() {
    return this.call.connection?.session ?? null;
  }

  /** The conversation, which outlives its calls; undefined before the first. */
  get conversation() {
    return this.call.conversationId;
  }

  /** The server's configuration, asked for once. @returns {Promise<any>} */
  get config() {
    this.#config ??= this.server.getConfig().catch((error) => {
      this.#config = null;
      throw error;
    });
    return this.#config;
  }

  #inCall() {
    if (!this.session) throw new Error("There is no call: connect() first.");
    return this.session;
  }

  /** Where TURN is offered, its credentials are made for each call; without them a call may still do. @returns {Promise<RTCIceServer[]>} */
  async #iceServers() {
    const { turn = false, ice_servers = [] } = await this.config.catch(() => ({}));
    if (!turn) return ice_servers;
    return this.server.postIceServers().then(
      (given) => given.ice_servers,
      () => ice_servers,
    );
  }

  /** @param {string} type @param {any} [data] @param {any} [more] */
  #emit(type, data, more) {
    for (const listener of this.#listeners.get(type) ?? []) listener(data, more);
    for (const listener of this.#listeners.get("*") ?? []) /** @type {(...given: any[]) => void} */ (listener)(type, data, more);
  }
}
