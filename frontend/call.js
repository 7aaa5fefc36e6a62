/** One WebRTC call: a microphone's stream out, the assistant's voice in. */

import { beaconDisconnect, postDisconnect, postOffer } from "./api.js";

const CONNECT_WITHIN_MS = 12_000;

/** `connected` · `shaky` packets stopped, may come back · `lost` they did not · `never` it never came up */
/** @typedef {"connected" | "shaky" | "lost" | "never"} CallState */

export class Call {
  /**
   * @param {object} options
   * @param {RTCIceServer[]} options.iceServers
   * @param {MediaStream} options.stream what we send
   * @param {(state: CallState) => void} options.onState
   * @param {(stream: MediaStream) => void} options.onVoice the assistant's stream, once
   */
  constructor({ iceServers, stream, onState, onVoice }) {
    this.stream = stream;
    this.onState = onState;
    /** @type {{id: string, token: string} | null} */
    this.session = null;
    this.everConnected = false;
    this.over = false;
    this.peer = new RTCPeerConnection({ iceServers });
    this.peer.addEventListener("track", (event) => onVoice(event.streams[0] ?? new MediaStream([event.track])));
    this.peer.addEventListener("connectionstatechange", () => this.#changed());
    const [track] = stream.getAudioTracks();
    this.sender = this.peer.addTrack(track, stream);
  }

  /**
   * Offer, answer, and the session that belongs to it. The offer goes out at once, without candidates of ours: the
   * server learns our address from the first packet, so there is nothing to gather or wait for.
   * @param {string | undefined} fingerprint
   */
  async dial(fingerprint) {
    await this.peer.setLocalDescription();
    const offer = /** @type {RTCSessionDescription} */ (this.peer.localDescription);
    const answer = await postOffer(offer.sdp, fingerprint);
    this.session = { id: answer.session_id, token: answer.token };
    if (this.over) return this.#tellServer();
    await this.peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    this.timer = setTimeout(() => this.everConnected || this.onState("never"), CONNECT_WITHIN_MS);
  }

  /** Speak through another microphone from now on. @param {MediaStream} stream */
  async replaceStream(stream) {
    const old = this.stream;
    this.stream = stream;
    await this.sender.replaceTrack(stream.getAudioTracks()[0]);
    stopTracks(old);
  }

  /** @param {boolean} muted */
  mute(muted) {
    for (const track of this.stream.getAudioTracks()) track.enabled = !muted;
  }

  /** End the call here at once, and tell the server. Resolves when it knows, or cannot be told. */
  async hangUp() {
    this.close();
    await this.#tellServer();
  }

  /** The page is going away. */
  abandon() {
    if (this.session && !this.over) beaconDisconnect(this.session);
    this.close();
  }

  /** End the call on this side only. */
  close() {
    this.over = true;
    clearTimeout(this.timer);
    this.peer.close();
    stopTracks(this.stream);
  }

  async #tellServer() {
    if (!this.session) return;
    // The server notices by itself within seconds if this does not arrive: nothing to tell the user.
    await postDisconnect(this.session).catch(() => {});
  }

  #changed() {
    if (this.over) return;
    const state = this.peer.connectionState;
    if (state === "connected") {
      this.everConnected = true;
      this.onState("connected");
    } else if (state === "disconnected") {
      this.onState("shaky");
    } else if (state === "failed") {
      this.onState(this.everConnected ? "lost" : "never");
    }
  }
}

/** @param {MediaStream} stream */
function stopTracks(stream) {
  for (const track of stream.getTracks()) track.stop();
}
