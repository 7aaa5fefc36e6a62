/** The sound of a call: the stream that is sent, the speaker that plays the assistant, and the choice of devices for both. */

import { listDevices, SPEAKERS_CHOOSABLE } from "./devices.js";
import { AUTOPLAY_REFUSED, MICROPHONE_LOST, microphoneFailure, SOUND_LOST } from "./failures.js";
import { openMicrophone, silentStream } from "./microphone.js";

export class CallAudio {
  /** The stream that is sent. @type {MediaStream | null} */
  stream = null;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {((stream: MediaStream) => Promise<void>) | null} */
  #replaceStream = null;

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

  /** The audio context, made on first use: browsers want a click before they allow one to run. */
  get context() {
    return (this.#context ??= new AudioContext());
  }

  // --- around a call -------------------------------------------------------------------------------------

  /**
   * Open the microphone, or a silent stream for a caller who types. Rejects with the browser's own error.
   * @param {boolean} silent
   * @param {() => boolean} isWanted asked when the stream is there, which may take the user a while to allow
   * @returns {Promise<boolean>} false: nobody wants it any more
   */
  async open(silent, isWanted) {
    void this.context.resume();
    const stream = silent ? silentStream(this.context) : await openMicrophone(this.store.state.microphone.chosen);
    if (!isWanted()) {
      stopTracks(stream);
      return false;
    }
    this.#use(stream);
    this.#change({ mode: silent ? "silent" : "on", muted: false, talking: false });
    if (!silent) void this.refreshDevices();
    return true;
  }

  /** Send through this connection from now on. @param {import("./connection.js").Connection} connection */
  attach(connection) {
    this.#replaceStream = (stream) => connection.replaceStream(stream);
  }

  /** Send nowhere until another connection is attached; the microphone stays open. */
  detach() {
    this.#replaceStream = null;
  }

  /** Play the assistant's voice. @param {MediaStream} voice */
  play(voice) {
    this.speaker.srcObject = voice;
    this.levels.tap(this.context, "out", voice);
    void this.allowSound();
  }

  /** Play the sound that the browser held back; it does not refuse within a click. */
  async allowSound() {
    try {
      await this.#context?.resume();
      await this.speaker.play();
      if (this.store.state.failure === AUTOPLAY_REFUSED) this.store.dispatch("page_failure_dismissed");
    } catch (error) {
      // AbortError: the call ended or began again meanwhile, which is no refusal.
      if (error instanceof Error && error.name === "NotAllowedError") this.store.dispatch("page_failed", AUTOPLAY_REFUSED);
    }
  }

  /** Release the microphone and the speaker. */
  close() {
    this.detach();
    if (this.stream) stopTracks(this.stream);
    this.stream = null;
    this.levels.stop();
    this.speaker.srcObject = null;
  }

  /** Open the microphone in a call that was begun without one. */
  async speak() {
    try {
      await this.#send(await openMicrophone(this.store.state.microphone.chosen));
      this.#change({ mode: "on", muted: false });
      void this.refreshDevices();
    } catch (error) {
      this.store.dispatch("page_failed", { ...microphoneFailure(error), ways: ["dismiss"] });
    }
  }

  // --- the user's choices --------------------------------------------------------------------------------

  /** @param {string} deviceId */
  async chooseMicrophone(deviceId) {
    this.store.dispatch("page_microphone", { chosen: deviceId });
    if (!this.#replaceStream || this.store.state.microphone.mode !== "on") return;
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
      if (this.#replaceStream) this.store.dispatch("page_failed", SOUND_LOST);
    }
  }

  /** List the devices again. */
  async refreshDevices() {
    const { microphones, speakers } = await listDevices().catch(() => ({ microphones: [], speakers: [] }));
    this.store.dispatch("page_microphone", { devices: microphones });
    this.store.dispatch("page_speaker", { devices: speakers });
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.#change({ muted });
  }

  /** Send sound only while a key or button is held. @param {boolean} pushToTalk */
  pushToTalk(pushToTalk) {
    this.#change({ pushToTalk, talking: false, muted: false });
  }

  /** The push-to-talk key is being held, or was released. @param {boolean} talking */
  talk(talking) {
    if (this.store.state.microphone.talking !== talking) this.#change({ talking });
  }

  // --- the stream that is sent ---------------------------------------------------------------------------

  /** @param {Partial<import("./store.js").Microphone>} changes */
  #change(changes) {
    this.store.dispatch("page_microphone", changes);
    const { muted, pushToTalk, talking } = this.store.state.microphone;
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = !muted && (!pushToTalk || talking);
  }

  /** Send another stream from now on. @param {MediaStream} stream */
  async #send(stream) {
    const old = this.stream;
    await this.#replaceStream?.(stream);
    this.#use(stream);
    this.#change({});
    if (old) stopTracks(old);
  }

  /** Show how loud the caller is, and notice when the microphone is unplugged. @param {MediaStream} stream */
  #use(stream) {
    this.stream = stream;
    this.levels.tap(this.context, "in", stream);
    const [track] = stream.getAudioTracks();
    track.addEventListener("ended", () => this.stream === stream && void this.#microphoneLost());
  }

  /** Send silence instead, since a connection without packets is taken for a lost one. */
  async #microphoneLost() {
    await this.#send(silentStream(this.context));
    this.store.dispatch("page_microphone", { mode: "silent" });
    this.store.dispatch("page_failed", MICROPHONE_LOST);
  }
}

/** @param {MediaStream} stream */
function stopTracks(stream) {
  for (const track of stream.getTracks()) track.stop();
}
