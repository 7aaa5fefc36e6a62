/**
 * One conversation from the page's side: microphone, line and events brought up in order, and down again; a line that
 * breaks is made anew in the same conversation. Tells the store what happens; knows nothing of how it looks.
 *
 * Every attempt to get through has a number. What an earlier attempt still has to say is not listened to.
 */

import { ApiError, getConversation, getTranscript, postMessage, postThinker } from "./api.js";
import { waitBefore } from "./backoff.js";
import { Call } from "./call.js";
import { listDevices, SPEAKERS_CHOOSABLE } from "./devices.js";
import { EventFeed } from "./events.js";
import {
  AUTOPLAY_REFUSED,
  comesBack,
  CONNECTION_LOST,
  MICROPHONE_LOST,
  microphoneFailure,
  NEVER_CONNECTED,
  OFFLINE,
  reconnecting,
  requestFailure,
  SESSION_GONE,
  SOUND_LOST,
} from "./failures.js";
import { fingerprintIfReady } from "./fingerprint.js";
import { abandon, hangUp, stopTracks } from "./line.js";
import { openMicrophone, silentStream } from "./microphone.js";
import { SocketCall } from "./socket_call.js";
import { rememberConversation, rememberedConversation } from "./tab.js";

/** How long the server's last events (why it ended) may take to arrive after a hang-up. */
const LAST_WORDS_MS = 2_000;
/** The URL switch `?transport=websocket` goes without UDP from the start. */
const KIND = new URLSearchParams(location.search).get("transport") === "websocket" ? "websocket" : "webrtc";

/** @typedef {import("./line.js").Session} Session */

export class Conversation {
  /** @type {import("./line.js").Line | null} */
  line = null;
  /** @type {EventFeed | null} */
  feed = null;
  /** @type {MediaStream | null} what is sent */
  stream = null;
  /** @type {AudioContext | null} */
  context = null;
  /** The conversation on the server, which outlives its calls. @type {string | undefined} */
  id = undefined;
  /** @type {import("./line.js").Line["kind"]} how the next line is made */
  kind = KIND;
  #attempt = 0;
  /** How often a lost line was tried again; 0: it stands. */
  #retries = 0;
  /** How many lines this conversation has had on which we got through: their item ids must not be mistaken for each other's. */
  #lines = 0;
  #reached = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retrying;

  /**
   * @param {import("./store.js").Store} store
   * @param {import("./levels.js").Levels} levels
   * @param {HTMLAudioElement} speaker plays the assistant's voice
   */
  constructor(store, levels, speaker) {
    this.store = store;
    this.levels = levels;
    this.speaker = speaker;
    store.dispatch("page_speaker", { choosable: SPEAKERS_CHOOSABLE });
  }

  /** The session on the line, if any. @returns {Session | null} */
  get session() {
    return this.line?.session ?? null;
  }

  // --- a call begins and ends ------------------------------------------------------------------------

  /** Place a call, which goes on with what was said last. @param {{silent?: boolean}} [options] silent: by typing alone */
  async connect({ silent = false } = {}) {
    if (this.#retries) return this.#tryNow();
    if (this.line) return;
    const attempt = this.#begin();
    this.store.dispatch("page_connecting", { step: "microphone", again: this.#again });
    this.context ??= new AudioContext();
    void this.context.resume();
    if (await this.#openStream(silent, attempt)) await this.#dial(attempt);
  }

  /** Hang up, at any moment. */
  async disconnect() {
    this.#attempt += 1;
    const { line, feed } = this;
    this.#drop();
    this.store.dispatch("page_closed");
    setTimeout(() => feed?.close(), LAST_WORDS_MS);
    if (line) await hangUp(line);
  }

  /** Leave what was said, and the call if there is one: the next begins a new conversation. */
  startAnew() {
    this.#attempt += 1;
    this.feed?.close();
    if (this.line) void hangUp(this.line);
    this.#drop();
    this.id = undefined;
    this.#lines = 0;
    rememberConversation(undefined);
    this.store.dispatch("page_new_conversation");
  }

  /** The page was loaded anew: go on with the conversation this tab had, if the server still knows it. */
  async comeBack() {
    const id = rememberedConversation();
    if (!id || this.id) return;
    try {
      const { messages } = await getConversation(id);
      this.id = id;
      this.#lines = 1;
      this.store.dispatch("page_conversation_recalled", { messages });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) rememberConversation(undefined);
    }
  }

  /** The page is going away; a browser that keeps it for the way back must not show a call that is gone. */
  abandon() {
    if (!this.line && !this.#retries) return;
    this.#attempt += 1;
    if (this.line) abandon(this.line);
    this.feed?.close();
    this.#drop();
    this.store.dispatch("page_closed");
  }

  // --- during a call -----------------------------------------------------------------------------------

  /** Type into the conversation. Resolves to whether the server took it. @param {string} text */
  async type(text) {
    const { session } = this;
    return Boolean(session) && this.#accepted(postMessage(/** @type {Session} */ (session), text));
  }

  /** Stop a Thinker, or have its late answer spoken. @param {string} id @param {"cancel" | "say"} asked */
  async askThinker(id, asked) {
    const { session } = this;
    if (!session) return;
    this.store.dispatch("page_thinker_asked", { id, asked });
    if (!(await this.#accepted(postThinker(session, id, asked)))) {
      this.store.dispatch("page_thinker_asked", { id, asked: "" });
    }
  }

  /** @param {string} deviceId */
  async chooseMicrophone(deviceId) {
    this.store.dispatch("page_microphone", { chosen: deviceId });
    if (!this.line || this.store.state.microphone.mode !== "on") return;
    try {
      await this.#send(await openMicrophone(deviceId));
    } catch (error) {
      this.store.dispatch("page_failed", { ...microphoneFailure(error), ways: ["dismiss"] });
    }
  }

  /** @param {string} deviceId */
  async chooseSpeaker(deviceId) {
    try {
      if (SPEAKERS_CHOOSABLE) await this.speaker.setSinkId(deviceId);
      this.store.dispatch("page_speaker", { chosen: deviceId });
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.store.dispatch("page_speaker", { chosen: "" });
      if (this.line) this.store.dispatch("page_failed", SOUND_LOST);
    }
  }

  /** Look again which devices there are. */
  async refreshDevices() {
    const { microphones, speakers } = await listDevices().catch(() => ({ microphones: [], speakers: [] }));
    this.store.dispatch("page_microphone", { devices: microphones });
    this.store.dispatch("page_speaker", { devices: speakers });
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.#change({ muted });
  }

  /** Be heard only while a key or button is held. @param {boolean} pushToTalk */
  pushToTalk(pushToTalk) {
    this.#change({ pushToTalk, talking: false, muted: false });
  }

  /** It is being held, or let go. @param {boolean} talking */
  talk(talking) {
    if (this.store.state.microphone.talking !== talking) this.#change({ talking });
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

  /** The connection's own figures, while there is one that has them. @returns {Promise<RTCStatsReport | null>} */
  async statistics() {
    return this.line?.statistics() ?? null;
  }

  // --- getting through -----------------------------------------------------------------------------------

  get #again() {
    return this.id !== undefined;
  }

  /** @returns {number} the new attempt */
  #begin() {
    this.feed?.close();
    this.#reached = false;
    this.kind = KIND;
    if (this.id === undefined) this.#lines = 0;
    return ++this.#attempt;
  }

  /** @param {boolean} silent @param {number} attempt @returns {Promise<boolean>} */
  async #openStream(silent, attempt) {
    const context = /** @type {AudioContext} */ (this.context);
    try {
      const stream = silent ? silentStream(context) : await openMicrophone(this.store.state.microphone.chosen);
      if (attempt !== this.#attempt) {
        stopTracks(stream);
        return false;
      }
      this.#heed(stream);
      this.#change({ mode: silent ? "silent" : "on", muted: false, talking: false });
      if (!silent) void this.refreshDevices();
      return true;
    } catch (error) {
      if (attempt === this.#attempt) this.#fail(microphoneFailure(error));
      return false;
    }
  }

  /** @param {number} attempt */
  async #dial(attempt) {
    const { store } = this;
    if (!this.#retries) store.dispatch("page_connecting", { step: this.#step(), again: this.#again });
    const line = new (this.kind === "websocket" ? SocketCall : Call)({
      context: /** @type {AudioContext} */ (this.context),
      iceServers: store.state.config?.ice_servers ?? [],
      stream: /** @type {MediaStream} */ (this.stream),
      onState: (state) => attempt === this.#attempt && this.#lineChanged(state),
      onVoice: (voice) => attempt === this.#attempt && this.#play(voice),
    });
    this.line = line;
    try {
      const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
      await line.dial({ fingerprint: await fingerprintIfReady(), time_zone: zone, conversation_id: this.id });
    } catch (error) {
      if (attempt === this.#attempt) this.#refused(requestFailure(error, Date.now()));
      return;
    }
    if (attempt === this.#attempt && line.session) this.#follow(line.session, attempt);
  }

  #step() {
    return this.kind === KIND ? "answer" : "fallback";
  }

  /** Who was not let in says so; who has lost the line and is refused (a full server, say) tries on. @param {import("./failures.js").Failure} failure */
  #refused(failure) {
    if (this.#retries) this.#tryLater(failure.retryAt);
    else this.#fail(failure);
  }

  /** @param {import("./line.js").LineState} state */
  #lineChanged(state) {
    if (state === "connected") this.#connected();
    else if (state === "shaky") this.store.dispatch("page_shaky");
    else if (state === "never") this.#neverConnected();
    else this.#lost();
  }

  #connected() {
    if (this.store.state.phase === "shaky") return this.store.dispatch("page_steady");
    this.store.dispatch("page_connected", { again: this.#lines > 0 });
    this.#lines += 1;
    this.#reached = true;
    this.#retries = 0;
  }

  /** UDP may be blocked: the WebSocket is the other way in, and the last. */
  #neverConnected() {
    if (this.kind === "webrtc") {
      this.kind = "websocket";
      this.feed?.close();
      this.#leaveLine();
      void this.#dial(++this.#attempt);
    } else if (this.#retries) this.#tryLater();
    else this.#fail(navigator.onLine ? NEVER_CONNECTED : OFFLINE);
  }

  /** The line broke: make it anew, in the same conversation, unless it never stood. */
  #lost() {
    if (this.#reached) this.#tryLater();
    else this.#fail(navigator.onLine ? CONNECTION_LOST : OFFLINE);
  }

  /** @param {number} [notBefore] page clock, ms */
  #tryLater(notBefore = 0) {
    const attempt = ++this.#attempt;
    this.#leaveLine();
    this.feed?.close();
    this.#retries += 1;
    const wait = waitBefore(this.#retries);
    if (wait === null) return this.#fail(navigator.onLine ? CONNECTION_LOST : OFFLINE);
    this.store.dispatch("page_reconnecting", { attempt: this.#retries, failure: reconnecting(navigator.onLine) });
    this.#retrying = setTimeout(() => this.#tryAgain(attempt), Math.max(wait, notBefore - Date.now()));
  }

  /** Without a network there is no point, and no hurry: `online` brings us back here. @param {number} attempt */
  #tryAgain(attempt) {
    if (attempt !== this.#attempt) return;
    if (navigator.onLine) return void this.#dial(attempt);
    addEventListener("online", () => this.#tryAgain(attempt), { once: true });
  }

  #tryNow() {
    clearTimeout(this.#retrying);
    this.#tryAgain(this.#attempt);
  }

  // --- what the server tells -----------------------------------------------------------------------------

  /** @param {Session} session @param {number} attempt */
  #follow(session, attempt) {
    this.id = session.conversation ?? this.id;
    const prefix = this.#lines ? `${this.#lines + 1}/` : "";
    this.feed = new EventFeed(
      session,
      (type, data) =>
        attempt === this.#attempt || type === "session_ended" ? this.#told(type, data, session, prefix, attempt) : undefined,
      () => attempt === this.#attempt && this.#fail(SESSION_GONE),
    );
  }

  /** @param {string} type @param {any} data @param {Session} session @param {string} prefix @param {number} attempt */
  #told(type, data, session, prefix, attempt) {
    this.store.dispatch(type, data.item_id ? { ...data, item_id: prefix + data.item_id } : data);
    if (type === "transcript") rememberConversation(this.id);
    if (type === "gap") void this.#catchUp(session, prefix);
    if (type !== "session_ended") return;
    if (attempt === this.#attempt && this.#reached && comesBack(data.reason)) this.#tryLater();
    else this.#drop();
  }

  /** Some events were missed: read the transcript as the server has it. @param {Session} session @param {string} prefix */
  async #catchUp(session, prefix) {
    const record = await getTranscript(session).catch(() => null);
    if (!record) return;
    const messages = record.messages.map((message) => ({ ...message, item_id: prefix + message.item_id }));
    this.store.dispatch("page_transcript_loaded", { messages, prefix });
  }

  /** Whether the server took it; why not is told. @param {Promise<unknown>} request */
  async #accepted(request) {
    try {
      await request;
      return true;
    } catch (error) {
      this.store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
      return false;
    }
  }

  // --- sound ---------------------------------------------------------------------------------------------

  /** @param {Partial<import("./store.js").Microphone>} changes */
  #change(changes) {
    this.store.dispatch("page_microphone", changes);
    const { muted, pushToTalk, talking } = this.store.state.microphone;
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = !muted && (!pushToTalk || talking);
  }

  /** Speak through another stream from now on. @param {MediaStream} stream */
  async #send(stream) {
    const old = this.stream;
    await this.line?.replaceStream(stream);
    this.#heed(stream);
    this.#change({});
    if (old) stopTracks(old);
  }

  /** Show how loud the caller is, and notice when the microphone is pulled out. @param {MediaStream} stream */
  #heed(stream) {
    this.stream = stream;
    this.levels.tap(/** @type {AudioContext} */ (this.context), "in", stream);
    const [track] = stream.getAudioTracks();
    track.addEventListener("ended", () => this.stream === stream && void this.#microphoneLost());
  }

  /** Silence in its place, since a line without packets is taken for a lost one. */
  async #microphoneLost() {
    await this.#send(silentStream(/** @type {AudioContext} */ (this.context)));
    this.store.dispatch("page_microphone", { mode: "silent" });
    this.store.dispatch("page_failed", MICROPHONE_LOST);
  }

  /** @param {MediaStream} voice */
  #play(voice) {
    this.speaker.srcObject = voice;
    this.levels.tap(/** @type {AudioContext} */ (this.context), "out", voice);
    void this.hear();
  }

  // --- the end -------------------------------------------------------------------------------------------

  /** @param {import("./failures.js").Failure} failure */
  #fail(failure) {
    const { line } = this;
    this.#attempt += 1;
    this.#drop();
    this.feed?.close();
    if (line) void hangUp(line);
    this.store.dispatch("page_failed", failure);
    this.store.dispatch("page_closed");
  }

  /** The line is of no use any more; the server is told, should it still listen. */
  #leaveLine() {
    if (this.line) void hangUp(this.line);
    this.line = null;
  }

  /** Let go of the line and its sounds. */
  #drop() {
    clearTimeout(this.#retrying);
    this.#retries = 0;
    this.line?.close();
    this.line = null;
    if (this.stream) stopTracks(this.stream);
    this.stream = null;
    this.levels.stop();
    this.speaker.srcObject = null;
  }
}
