/**
 * What a call is made over, whichever way the sound goes. `Call` is one over WebRTC, `SocketCall` one over a WebSocket.
 *
 * `connected` · `shaky` packets stopped, may come back · `lost` they did not · `never` it never came up
 * @typedef {"connected" | "shaky" | "lost" | "never"} LineState
 * @typedef {{id: string, token: string, conversation?: string}} Session
 *
 * @typedef {object} LineOptions
 * @property {AudioContext} context
 * @property {RTCIceServer[]} iceServers
 * @property {MediaStream} stream what is sent; it stays its owner's to stop
 * @property {(state: LineState) => void} onState
 * @property {(voice: MediaStream) => void} onVoice the assistant's stream, once
 *
 * @typedef {object} Line
 * @property {Session | null} session
 * @property {"webrtc" | "websocket"} kind
 * @property {(opening: import("./api.js").Opening) => Promise<void>} dial asks for a session and begins; rejects when refused
 * @property {(stream: MediaStream) => Promise<void>} replaceStream speak through another microphone from now on
 * @property {() => Promise<RTCStatsReport | null>} statistics
 * @property {() => void} close ends it on this side only
 */

import { beaconDisconnect, postDisconnect } from "./api.js";

/** End the call, and tell the server. Resolves when it knows, or cannot be told. @param {Line} line */
export async function hangUp(line) {
  line.close();
  // The server notices by itself within seconds if this does not arrive: nothing to tell the user.
  if (line.session) await postDisconnect(line.session).catch(() => {});
}

/** The page is going away. @param {Line} line */
export function abandon(line) {
  if (line.session) beaconDisconnect(line.session);
  line.close();
}

/** @param {import("./api.js").Ticket} ticket @returns {Session} */
export function sessionOf({ session_id, token, conversation_id }) {
  return { id: session_id, token, conversation: conversation_id };
}

/** @param {MediaStream} stream */
export function stopTracks(stream) {
  for (const track of stream.getTracks()) track.stop();
}
