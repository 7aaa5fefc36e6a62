/**
 * One conversation from the page's side: microphone, call and events brought up in order, and down again. Tells the
 * store what happens; knows nothing of how it looks.
 */

import { getTranscript, postMessage } from "./api.js";
import { Call } from "./call.js";
import { EventFeed } from "./events.js";
import {
  AUTOPLAY_REFUSED,
  CONNECTION_LOST,
  MICROPHONE_LOST,
  microphoneFailure,
  NEVER_CONNECTED,
  OFFLINE,
  requestFailure,
  SESSION_GONE,
} from "./failures.js";
import { fingerprintIfReady } from "./fingerprint.js";
import { listMicrophones, openMicrophone, silentStream } from "./microphone.js";

/** How long the server's last events (why it ended) may take to arrive after a hang-up. */
const LAST_WORDS_MS = 2_000;

export class Conversation {
  /**
   * @param {import("./store.js").Store} store
   * @param {import("./levels.js").Levels} levels
   * @param {HTMLAudioElement} speaker plays the assistant's voice
   */
  constructor(store, levels, speaker) {
    this.store = store;
    this.levels = levels;
    this.speaker = speaker;
    /** @type {Call | null} */
    this.call = null;
    /** @type {EventFeed | null} */
    this.feed = null;
    /** @type {AudioContext | null} */
    this.context = null;
    this.attempt = 0;
  }

  /** Place a call. @param {{silent?: boolean}} [options] silent: without a microphone, by typing alone */
  async connect({ silent = false } = {}) {
    if (this.call) return;
    const attempt = ++this.attempt;
    this.feed?.close();
    this.store.dispatch("page_connecting", { step: "microphone" });
    this.context ??= new AudioContext();
    void this.context.resume();
    const stream = await this.#openStream(silent, attempt);
    if (stream) await this.#dial(stream, attempt);
  }

  /** Hang up, at any moment. */
  async disconnect() {
    this.attempt += 1;
    const call = this.call;
    this.#drop();
    this.store.dispatch("page_closed");
    const feed = this.feed;
    setTimeout(() => feed?.close(), LAST_WORDS_MS);
    await call?.hangUp();
  }

  /** The page is going away; a browser that keeps it for the way back must not show a call that is gone. */
  abandon() {
    if (!this.call) return;
    this.attempt += 1;
    this.call.abandon();
    this.feed?.close();
    this.#drop();
    this.store.dispatch("page_closed");
  }

  /** Type into the conversation. Resolves to whether the server took it. @param {string} text */
  async type(text) {
    const session = this.call?.session;
    if (!session) return false;
    try {
      await postMessage(session, text);
      return true;
    } catch (error) {
      const failure = requestFailure(error, Date.now());
      this.store.dispatch("page_failed", { ...failure, ways: ["dismiss"] });
      return false;
    }
  }

  /** @param {string} deviceId */
  async chooseMicrophone(deviceId) {
    this.store.dispatch("page_microphone", { chosen: deviceId });
    if (!this.call || this.store.state.microphone.mode !== "on") return;
    try {
      const stream = await openMicrophone(deviceId);
      await this.call.replaceStream(stream);
      this.call.mute(this.store.state.microphone.muted);
      this.#heed(stream);
    } catch (error) {
      this.store.dispatch("page_failed", { ...microphoneFailure(error), ways: ["dismiss"] });
    }
  }

  /** The connection's own figures, while there is one. @returns {Promise<RTCStatsReport | null>} */
  async statistics() {
    return this.call ? this.call.peer.getStats() : null;
  }

  /** Look again which microphones there are. */
  async refreshMicrophones() {
    const devices = await listMicrophones().catch(() => []);
    this.store.dispatch("page_microphone", { devices });
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.call?.mute(muted);
    this.store.dispatch("page_microphone", { muted });
  }

  /** Let the assistant be heard; from a click, the browser will not refuse. */
  async hear() {
    try {
      await this.context?.resume();
      await this.speaker.play();
      if (this.store.state.failure === AUTOPLAY_REFUSED) this.store.dispatch("page_failure_dismissed");
    } catch (error) {
      // AbortError: the call ended or began anew meanwhile, which is no refusal.
      if (error instanceof Error && error.name === "NotAllowedError") this.store.dispatch("page_failed", AUTOPLAY_REFUSED);
    }
  }

  /** @param {boolean} silent @param {number} attempt @returns {Promise<MediaStream | null>} */
  async #openStream(silent, attempt) {
    const context = /** @type {AudioContext} */ (this.context);
    try {
      const stream = silent ? silentStream(context) : await openMicrophone(this.store.state.microphone.chosen);
      if (attempt !== this.attempt) return stop(stream);
      this.store.dispatch("page_microphone", { mode: silent ? "silent" : "on", muted: false });
      if (!silent) void this.refreshMicrophones();
      return stream;
    } catch (error) {
      if (attempt === this.attempt) this.#fail(microphoneFailure(error));
      return null;
    }
  }

  /** @param {MediaStream} stream @param {number} attempt */
  async #dial(stream, attempt) {
    this.store.dispatch("page_connecting", { step: "answer" });
    const call = new Call({
      iceServers: this.store.state.config?.ice_servers ?? [],
      stream,
      onState: (state) => attempt === this.attempt && this.#callChanged(state),
      onVoice: (voice) => attempt === this.attempt && this.#play(voice),
    });
    this.call = call;
    this.#heed(stream);
    try {
      await call.dial(await fingerprintIfReady());
    } catch (error) {
      if (attempt === this.attempt) this.#fail(requestFailure(error, Date.now()));
      return;
    }
    if (attempt === this.attempt && call.session) this.#follow(call.session, attempt);
  }

  /** Show how loud the caller is, and notice when the microphone is pulled out. @param {MediaStream} stream */
  #heed(stream) {
    this.levels.tap(/** @type {AudioContext} */ (this.context), "in", stream);
    const [track] = stream.getAudioTracks();
    track.addEventListener("ended", () => this.call?.stream === stream && void this.#microphoneLost(this.call));
  }

  /** Silence in its place, since a line without packets is taken for a lost one. @param {Call} call */
  async #microphoneLost(call) {
    const silence = silentStream(/** @type {AudioContext} */ (this.context));
    await call.replaceStream(silence);
    this.store.dispatch("page_microphone", { mode: "silent" });
    this.store.dispatch("page_failed", MICROPHONE_LOST);
  }

  /** @param {{id: string, token: string}} session @param {number} attempt */
  #follow(session, attempt) {
    this.feed = new EventFeed(
      session,
      (type, data) => attempt === this.attempt || type === "session_ended" ? this.#told(type, data, session) : undefined,
      () => attempt === this.attempt && this.#fail(SESSION_GONE),
    );
  }

  /** @param {string} type @param {any} data @param {{id: string, token: string}} session */
  #told(type, data, session) {
    this.store.dispatch(type, data);
    if (type === "gap") void this.#catchUp(session);
    if (type === "session_ended") this.#drop();
  }

  /** Some events were missed: read the transcript as the server has it. @param {{id: string, token: string}} session */
  async #catchUp(session) {
    const record = await getTranscript(session).catch(() => null);
    if (record) this.store.dispatch("page_transcript_loaded", record);
  }

  /** @param {MediaStream} voice */
  #play(voice) {
    this.speaker.srcObject = voice;
    this.levels.tap(/** @type {AudioContext} */ (this.context), "out", voice);
    void this.hear();
  }

  /** @param {import("./call.js").CallState} state */
  #callChanged(state) {
    if (state === "connected") this.store.dispatch(this.store.state.phase === "shaky" ? "page_steady" : "page_connected");
    else if (state === "shaky") this.store.dispatch("page_shaky");
    else this.#fail(!navigator.onLine ? OFFLINE : state === "never" ? NEVER_CONNECTED : CONNECTION_LOST);
  }

  /** @param {import("./failures.js").Failure} failure */
  #fail(failure) {
    const call = this.call;
    this.attempt += 1;
    this.#drop();
    this.feed?.close();
    void call?.hangUp();
    this.store.dispatch("page_failed", failure);
    this.store.dispatch("page_closed");
  }

  /** Let go of the call and its sounds. */
  #drop() {
    this.call?.close();
    this.call = null;
    this.levels.stop();
    this.speaker.srcObject = null;
  }
}

/** @param {MediaStream} stream @returns {null} */
function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
  return null;
}
