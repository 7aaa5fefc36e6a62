/** The sound of a call: the stream that is sent, the speaker that plays the assistant, and the choice of devices for both. */

import { listDevices, SPEAKERS_CHOOSABLE } from "./devices.js";
import { openMicrophone, silentStream } from "./microphone.js";

/**
 * @typedef {object} Microphone
 * @property {"unknown" | "on" | "silent"} mode silent: the caller only types
 * @property {boolean} muted
 * @property {boolean} pushToTalk sound is sent only while a key or button is held
 * @property {boolean} talking the key or button is being held
 * @property {string} chosen a device's id; "" for the system's default
 * @property {readonly import("./devices.js").Device[]} devices
 *
 * @typedef {object} Speaker where the assistant is played
 * @property {boolean} choosable whether this browser lets us
 * @property {string} chosen a device's id; "" for the system's default
 * @property {readonly import("./devices.js").Device[]} devices
 *
 * `microphone` the browser did not give it · `microphone-lost` it was unplugged · `sound-lost` the chosen speaker cannot
 * play · `autoplay-refused` the browser wants a click before it plays
 * @typedef {"microphone" | "microphone-lost" | "sound-lost" | "autoplay-refused"} AudioProblem
 *
 * @typedef {object} Listener
 * @property {(microphone: Microphone) => void} onMicrophone its state has changed
 * @property {(speaker: Speaker) => void} onSpeaker
 * @property {(problem: AudioProblem, error?: unknown) => void} onProblem the call goes on
 * @property {() => void} onSound the browser plays, perhaps after it had refused
 * @property {(direction: "in" | "out", stream: MediaStream | null, context: AudioContext) => void} onStream the sound of
 *   a direction, e.g. for a meter; null: it has ended
 */

/** @type {readonly ("in" | "out")[]} */
const DIRECTIONS = ["in", "out"];

export class CallAudio {
  /** The stream that is sent. @type {MediaStream | null} */
  stream = null;
  /** @type {AudioContext | null} */
  #context = null;
  /** @type {((stream: MediaStream) => Promise<void>) | null} */
  #replaceStream = null;

  /** @type {Microphone} */
  microphone = { mode: "unknown", muted: false, pushToTalk: false, talking: false, chosen: "", devices: [] };
  /** @type {Speaker} */
  speaker = { choosable: SPEAKERS_CHOOSABLE, chosen: "", devices: [] };

  /**
   * @param {HTMLAudioElement} element plays the assistant's voice
   * @param {boolean} processed whether the browser processes the microphone
   * @param {Listener} listener
   */
  constructor(element, processed, listener) {
    this.element = element;
    this.processed = processed;
    this.listener = listener;
    listener.onSpeaker(this.speaker);
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
   * @returns {Promise<boolean>} false: it is no longer wanted
   */
  async open(silent, isWanted) {
    void this.context.resume();
    const stream = silent ? silentStream(this.context) : await openMicrophone(this.microphone.chosen, this.processed);
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
    this.element.srcObject = voice;
    this.listener.onStream("out", voice, this.context);
    void this.allowSound();
  }

  /** Play the sound that the browser held back; it does not refuse within a click. */
  async allowSound() {
    try {
      await this.#context?.resume();
      await this.element.play();
      this.listener.onSound();
    } catch (error) {
      // AbortError: the call ended or began again meanwhile, which is no refusal.
      if (error instanceof Error && error.name === "NotAllowedError") this.listener.onProblem("autoplay-refused");
    }
  }

  /** Release the microphone and the speaker. */
  close() {
    this.detach();
    if (this.stream) stopTracks(this.stream);
    this.stream = null;
    if (this.#context) for (const way of DIRECTIONS) this.listener.onStream(way, null, this.#context);
    this.element.srcObject = null;
  }

  /** Open the microphone in a call that was begun without one. */
  async speak() {
    try {
      await this.#send(await openMicrophone(this.microphone.chosen, this.processed));
      this.#change({ mode: "on", muted: false });
      void this.refreshDevices();
    } catch (error) {
      this.listener.onProblem("microphone", error);
    }
  }

  // --- the user's choices --------------------------------------------------------------------------------

  /** @param {string} deviceId */
  async chooseMicrophone(deviceId) {
    this.#change({ chosen: deviceId });
    if (!this.#replaceStream || this.microphone.mode !== "on") return;
    try {
      await this.#send(await openMicrophone(deviceId, this.processed));
    } catch (error) {
      this.listener.onProblem("microphone", error);
    }
  }

  /** @param {string} deviceId */
  async chooseSpeaker(deviceId) {
    try {
      if (SPEAKERS_CHOOSABLE) await this.element.setSinkId(deviceId);
      this.#changeSpeaker({ chosen: deviceId });
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.#changeSpeaker({ chosen: "" });
      if (this.#replaceStream) this.listener.onProblem("sound-lost");
    }
  }

  /** List the devices again. */
  async refreshDevices() {
    const { microphones, speakers } = await listDevices().catch(() => ({ microphones: [], speakers: [] }));
    this.#change({ devices: microphones });
    this.#changeSpeaker({ devices: speakers });
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
    if (this.microphone.talking !== talking) this.#change({ talking });
  }

  // --- the stream that is sent ---------------------------------------------------------------------------

  /** @param {Partial<Microphone>} changes */
  #change(changes) {
    this.microphone = { ...this.microphone, ...changes };
    this.listener.onMicrophone(this.microphone);
    const { muted, pushToTalk, talking } = this.microphone;
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = !muted && (!pushToTalk || talking);
  }

  /** @param {Partial<Speaker>} changes */
  #changeSpeaker(changes) {
    this.speaker = { ...this.speaker, ...changes };
    this.listener.onSpeaker(this.speaker);
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
    this.listener.onStream("in", stream, this.context);
    const [track] = stream.getAudioTracks();
    track.addEventListener("ended", () => this.stream === stream && void this.#microphoneLost());
  }

  /** Send silence instead, since a connection without packets is taken for a lost one. */
  async #microphoneLost() {
    await this.#send(silentStream(this.context));
    this.#change({ mode: "silent" });
    this.listener.onProblem("microphone-lost");
  }
}

/** @param {MediaStream} stream */
function stopTracks(stream) {
  for (const track of stream.getTracks()) track.stop();
}
