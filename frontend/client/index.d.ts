/** Types of the client package. Events of the server are described in the server's docs/api.md. */

export interface Session {
  id: string;
  token: string;
  conversation?: string;
}

/** A refused or lost request; `status` 0: no answer at all. */
export class ApiError extends Error {
  constructor(status: number, message: string, hint?: string, retryAfterS?: number | null);
  readonly status: number;
  readonly hint: string;
  readonly retryAfterS: number | null;
}

export interface Device {
  id: string;
  label: string;
}

export interface MicrophoneState {
  /** `silent`: the caller only types. */
  mode: "unknown" | "on" | "silent";
  muted: boolean;
  pushToTalk: boolean;
  talking: boolean;
  /** A device's id; "" for the system's default. */
  chosen: string;
  devices: readonly Device[];
}

export interface SpeakerState {
  choosable: boolean;
  chosen: string;
  devices: readonly Device[];
}

export type Floor = "listening" | "user" | "pausing" | "assistant" | "held" | "closed";
export type Role = "user" | "assistant";

/** Why a call could not be placed, or ended without the server's word. */
export type Cause = "microphone" | "request" | "session-gone" | "never-connected" | "connection-lost" | "offline";

/** What a call survives. */
export type Problem = "microphone" | "microphone-lost" | "sound-lost" | "autoplay-refused";

export interface Events {
  // What happens to the call.
  connecting: { step: "microphone" | "answer" | "fallback"; again: boolean };
  connected: { again: boolean };
  /** Packets have stopped and may resume; `steady` when they have. */
  shaky: undefined;
  steady: undefined;
  /** The connection was lost and is dialled again in the same conversation. */
  reconnecting: { attempt: number; online: boolean };
  failed: { cause: Cause; error?: unknown };
  closed: undefined;
  problem: { cause: Problem; error?: unknown };
  sound: undefined;
  microphone: MicrophoneState;
  speaker: SpeakerState;
  /** The sound of a direction, e.g. for a meter; null: it has ended. */
  stream: { direction: "in" | "out"; stream: MediaStream | null; context: AudioContext };

  // What the server reports.
  session_started: { session_id: string; conversation_id: string; responder: string; model: string; interruptions: boolean; pictures: boolean };
  floor: { floor: Floor };
  transcript_delta: { role: Role; item_id: string; delta: string };
  transcript_done: { role: Role; item_id: string; content: string };
  transcript: { role: Role; item_id: string; content: string };
  transcript_interrupted: { item_id: string; heard: string; content: string };
  thinker: {
    call_id: string;
    event: "routed" | "working" | "complete" | "failed" | "stale" | "cancelled";
    domain: string;
    label: string;
    query: string;
    elapsed_ms: number;
    source?: string;
    detail?: string;
    error?: string;
    citations?: readonly { title: string; url: string }[];
  };
  answer_metrics: { turn: number; answer_ms: number };
  turn_metrics: { turn: number; first_sound_ms: number; [leg: string]: unknown };
  usage: { responder: string; model: string; call_tokens: number; call_usd: number | null; [more: string]: unknown };
  recording: { recording_id: string; on: boolean; reason: string };
  "confirmation.asked": { id: string; conversation_id: string; tool: string; arguments: Record<string, unknown>; expires_at: number };
  "confirmation.answered": { id: string; conversation_id: string; agreed: boolean };
  error: { message: string; hint?: string; problem?: string };
  gap: { missed: number };
  session_ended: { reason: string };
}

export interface Options {
  /** The server's origin, e.g. `https://voice.example`; left out: the page's own. */
  url?: string;
  /** A token that a key of API_KEYS signed, or what fetches one; none: the cookie's user. */
  token?: string | (() => Promise<string>) | null;
  /** Plays the assistant's voice; left out: an element of the client's own. */
  audio?: HTMLAudioElement;
  /** The transport to begin with; a call falls back to the WebSocket by itself. */
  transport?: "webrtc" | "websocket";
  /** Whether the browser cancels echo, suppresses noise and sets the gain; false only to measure. */
  processed?: boolean;
  /** A conversation to go on with. */
  conversation?: string;
}

export class VoiceClient {
  constructor(options?: Options);
  /** Calls `listener` for every event of a type; returns what ends it. */
  on<Type extends keyof Events>(type: Type, listener: (data: Events[Type]) => void): () => void;
  /** Calls `listener` for every event. */
  on(type: "*", listener: (type: string, data: unknown) => void): () => void;
  /** Places a call; with `silent` the caller only types, and no microphone is asked for. */
  connect(options?: { silent?: boolean }): Promise<void>;
  disconnect(): Promise<void>;
  mute(muted?: boolean): void;
  /** Types into the call; the answer is spoken. Rejects with an `ApiError`, or an `Error` without a call. */
  type(text: string): Promise<void>;
  /**
   * Shows the model a picture, a JPEG or PNG of at most 512 KB as a data URL, with typed words or without. Rejects as `type`
   * does, and where the model sees no pictures: `session_started` says so.
   */
  show(picture: string, text?: string): Promise<void>;
  /** Whether the caller's voice may interrupt replies. */
  allowInterruptions(allowed: boolean): Promise<void>;
  readonly session: Session | null;
  /** The conversation, which outlives its calls. */
  readonly conversation: string | undefined;
  readonly audio: {
    readonly microphone: MicrophoneState;
    readonly speaker: SpeakerState;
    chooseMicrophone(deviceId: string): Promise<void>;
    chooseSpeaker(deviceId: string): Promise<void>;
    pushToTalk(pushToTalk: boolean): void;
    talk(talking: boolean): void;
    /** Plays what the browser held back; call it within a click. */
    allowSound(): Promise<void>;
  };
}

/** Names are known once a microphone was allowed. */
export function listDevices(): Promise<{ microphones: Device[]; speakers: Device[] }>;
/** The names of the server's events. */
export const EVENT_TYPES: readonly string[];
/** The server's HTTP interface, for requests of your own. */
export class Server {
  constructor(options?: { url?: string; token?: string | (() => Promise<string>) | null });
  request(method: string, path: string, body?: unknown, token?: string): Promise<any>;
}
