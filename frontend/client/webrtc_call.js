/** One call over WebRTC: a `Connection` that sends the microphone's stream and plays the assistant's voice. */

import { sessionOf } from "./connection.js";

/** A firewall drops UDP silently: after this long the call is tried over a WebSocket. */
const CONNECT_WITHIN_MS = 8_000;
/** Packets that have stopped for this long will not resume by themselves. */
const LOST_AFTER_MS = 6_000;
/** The Opus parameters of our offer. */
const OPUS_PARAMETERS = /^a=fmtp:\d+ .*useinbandfec=1.*$/gm;

export class WebRtcCall {
  /** @type {"webrtc"} */
  kind = "webrtc";
  /** @type {import("./connection.js").Session | null} */
  session = null;
  #everConnected = false;
  #over = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {import("./connection.js").ConnectionOptions} options */
  constructor({ server, iceServers, stream, onState, onVoice }) {
    this.server = server;
    this.onState = onState;
    this.peer = new RTCPeerConnection({ iceServers });
    this.peer.addEventListener("track", (event) => onVoice(event.streams[0] ?? new MediaStream([event.track])));
    this.peer.addEventListener("connectionstatechange", () => this.#changed());
    const [track] = stream.getAudioTracks();
    this.sender = this.peer.addTrack(track, stream);
  }

  /**
   * Send the offer, and take the answer with its session. The offer goes out immediately, without candidates of ours: the
   * server learns our address from the first packet, so there is nothing to gather or wait for.
   * @param {import("./server.js").Opening} opening
   */
  async dial(opening) {
    await this.peer.setLocalDescription();
    const offer = /** @type {RTCSessionDescription} */ (this.peer.localDescription);
    const answer = await this.server.postOffer(withDtx(offer.sdp), opening);
    this.session = sessionOf(answer);
    if (this.#over) return void (await this.server.postDisconnect(this.session).catch(() => {}));
    await this.peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    this.#timer = setTimeout(() => this.#everConnected || this.onState("never"), CONNECT_WITHIN_MS);
  }

  /** @param {MediaStream} stream */
  async replaceStream(stream) {
    await this.sender.replaceTrack(stream.getAudioTracks()[0]);
  }

  async statistics() {
    return this.peer.getStats();
  }

  close() {
    this.#over = true;
    clearTimeout(this.#timer);
    this.peer.close();
  }

  #changed() {
    if (this.#over) return;
    const state = this.peer.connectionState;
    if (state === "connected") {
      this.#everConnected = true;
      clearTimeout(this.#timer);
      this.onState("connected");
    } else if (state === "disconnected") {
      this.onState("shaky");
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.onState("lost"), LOST_AFTER_MS);
    } else if (state === "failed") {
      this.onState(this.#everConnected ? "lost" : "never");
    }
  }
}

/** The offer with DTX: asks the server to send next to nothing during silence (RFC 7587, 7.1). @param {string} sdp */
function withDtx(sdp) {
  return sdp.replace(OPUS_PARAMETERS, "$&;usedtx=1");
}
