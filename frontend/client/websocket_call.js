/** One call over a WebSocket, for networks without UDP: a `Connection` with PCM both ways through an audio worklet. */

import { sessionOf } from "./connection.js";

const WORKLET = new URL("./voice_worklet.js", import.meta.url);
const CONNECT_WITHIN_MS = 8_000;
const PING_EVERY_MS = 10_000;
/** More than this waiting to be sent (a second of sound) means the network is too slow: newer sound is dropped. */
const BACKLOG_BYTES = 48_000;
/** The low-pass frequency: half of the transmitted rate, with room for the filter's slope. */
const AUDIBLE_HZ = 10_500;

export class WebSocketCall {
  /** @type {"websocket"} */
  kind = "websocket";
  /** @type {import("./connection.js").Session | null} */
  session = null;
  #over = false;
  #everConnected = false;
  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {AudioNode[]} */
  #nodes = [];
  /** @type {AudioNode | null} */
  #input = null;
  /** @type {MediaStreamAudioSourceNode | null} */
  #microphone = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #pinging;

  /** @param {import("./connection.js").ConnectionOptions} options */
  constructor({ server, context, stream, onState, onVoice }) {
    this.server = server;
    this.context = context;
    this.stream = stream;
    this.onState = onState;
    this.onVoice = onVoice;
  }

  /** @param {import("./server.js").Opening} opening */
  async dial(opening) {
    this.#timer = setTimeout(() => this.#everConnected || this.onState("never"), CONNECT_WITHIN_MS);
    await this.context.audioWorklet.addModule(WORKLET);
    this.session = sessionOf(await this.server.postSession(opening));
    if (this.#over) return void (await this.server.postDisconnect(this.session).catch(() => {}));
    const socket = new WebSocket(addressOf(this.server, this.session));
    this.#socket = socket;
    const play = this.#startPlayback();
    socket.addEventListener("message", ({ data }) => typeof data === "string" && this.#receive(JSON.parse(data), play));
    socket.addEventListener("close", () => this.#closed());
    // In a message, not in the address: proxies write addresses down.
    const { token } = this.session;
    socket.addEventListener("open", () => this.#send(JSON.stringify({ type: "token", token })));
  }

  /** @param {MediaStream} stream */
  async replaceStream(stream) {
    this.#microphone?.disconnect();
    this.stream = stream;
    if (this.#input) this.#microphone = connected(this.context.createMediaStreamSource(stream), this.#input);
  }

  async statistics() {
    return null;
  }

  close() {
    this.#over = true;
    clearTimeout(this.#timer);
    clearInterval(this.#pinging);
    this.#microphone?.disconnect();
    for (const node of this.#nodes) node.disconnect();
    this.#nodes = [];
    this.#send(JSON.stringify({ type: "bye" }));
    this.#socket?.close();
  }

  /** Play the assistant's voice: worklet, filter, then a stream like WebRTC's. */
  #startPlayback() {
    const voice = new AudioWorkletNode(this.context, "playback", { numberOfInputs: 0, outputChannelCount: [1] });
    const filter = lowPass(this.context);
    const out = this.context.createMediaStreamDestination();
    voice.connect(filter).connect(out);
    this.#nodes.push(voice, filter, out);
    this.onVoice(out.stream);
    return voice.port;
  }

  /** Send the microphone: filter, then the worklet, with its pieces sent as they come. */
  #startCapture() {
    const filter = lowPass(this.context);
    const capture = new AudioWorkletNode(this.context, "capture", { numberOfOutputs: 0 });
    filter.connect(capture);
    capture.port.onmessage = ({ data }) => (this.#socket?.bufferedAmount ?? 0) < BACKLOG_BYTES && this.#send(data);
    this.#nodes.push(filter, capture);
    this.#input = filter;
    this.#microphone = connected(this.context.createMediaStreamSource(this.stream), filter);
    this.#pinging = setInterval(() => this.#send(JSON.stringify({ type: "ping" })), PING_EVERY_MS);
  }

  /** @param {{type: string, pcm?: string}} message @param {MessagePort} play */
  #receive({ type, pcm }, play) {
    if (this.#over) return;
    if (type === "audio" && pcm) {
      const { buffer } = Uint8Array.from(atob(pcm), (letter) => letter.charCodeAt(0));
      play.postMessage(buffer, [buffer]);
    } else if (type === "flush") {
      play.postMessage(null);
    } else if (type === "bye") {
      this.#over = true;
    } else if (type === "ready") {
      this.#everConnected = true;
      clearTimeout(this.#timer);
      this.#startCapture();
      this.onState("connected");
    }
  }

  /** The session's event stream gives the reason for an end; only we can notice a lost connection. */
  #closed() {
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.onState(this.#everConnected ? "lost" : "never");
  }

  /** @param {string | ArrayBuffer} message */
  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(message);
  }
}

/** @param {import("./server.js").Server} server @param {import("./server.js").Session} session */
function addressOf({ url }, { id }) {
  return `${(url || location.origin).replace(/^http/, "ws")}/ws/${encodeURIComponent(id)}`;
}

/** @param {AudioContext} context */
function lowPass(context) {
  return new BiquadFilterNode(context, { type: "lowpass", frequency: AUDIBLE_HZ });
}

/** @template {AudioNode} Node @param {Node} node @param {AudioNode} to @returns {Node} */
function connected(node, to) {
  node.connect(to);
  return node;
}
