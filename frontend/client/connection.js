/**
 * The connection of a call, whatever its transport: `WebRtcCall` over WebRTC, `WebSocketCall` over a WebSocket.
 *
 * `connected` · `shaky` packets stopped and may resume · `lost` they did not · `never` it could not be established
 * @typedef {"connected" | "shaky" | "lost" | "never"} ConnectionState
 * @typedef {import("./server.js").Session} Session
 *
 * @typedef {object} ConnectionOptions
 * @property {import("./server.js").Server} server
 * @property {AudioContext} context
 * @property {RTCIceServer[]} iceServers
 * @property {MediaStream} stream the stream to send; its owner stops it
 * @property {(state: ConnectionState) => void} onState
 * @property {(voice: MediaStream) => void} onVoice the assistant's stream, once
 *
 * @typedef {object} Connection
 * @property {Session | null} session
 * @property {"webrtc" | "websocket"} kind
 * @property {(opening: import("./server.js").Opening) => Promise<void>} dial requests a session and connects; rejects when refused
 * @property {(stream: MediaStream) => Promise<void>} replaceStream sends another stream from now on
 * @property {() => Promise<RTCStatsReport | null>} statistics
 * @property {() => void} close ends it without informing the server
 */

/** End the call and inform the server. Resolves when it knows, or cannot be reached. @param {import("./server.js").Server} server @param {Connection} connection */
export async function hangUp(server, connection) {
  connection.close();
  // If this does not arrive, the server notices within seconds; there is nothing to show the user.
  if (connection.session) await server.postDisconnect(connection.session).catch(() => {});
}

/** End the call while the page is being left. @param {import("./server.js").Server} server @param {Connection} connection */
export function abandon(server, connection) {
  if (connection.session) server.beaconDisconnect(connection.session);
  connection.close();
}

/** @param {import("./server.js").Ticket} ticket @returns {Session} */
export function sessionOf({ session_id, token, conversation_id }) {
  return { id: session_id, token, conversation: conversation_id };
}
