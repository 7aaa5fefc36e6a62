/** The client package: calls to a voice server from any web page. See docs/howto/web-client.md. */

export { listDevices } from "./devices.js";
export { EVENT_TYPES } from "./event_stream.js";
export { ApiError, Server } from "./server.js";
export { VoiceClient } from "./voice_client.js";
