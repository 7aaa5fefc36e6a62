/** The call's state in words, how long it lasts, its one button, mute or hold-to-talk, and the service that answers. */

import { isDialling, isLive } from "../store.js";
import { part, setText } from "./dom.js";

const FLOOR_WORDS = {
  listening: "Listening — go ahead",
  user: "Hearing you",
  pausing: "Hearing you",
  assistant: "Speaking",
  held: "Paused — are you taking over?",
  closed: "",
};
const TICK_MS = 1_000;

/** The parts of the state that the state line and the buttons show. @type {readonly (keyof import("../store.js").State)[]} */
const STATE_PARTS = ["phase", "step", "attempt", "microphone", "failure", "session"];
/** True if there is a conversation to continue. @param {import("../store.js").State | Record<string, any>} state */
const hasBegun = ({ transcript }) => Boolean(transcript?.entries.length);

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 * @param {import("../client/call_audio.js").CallAudio} audio
 */
export function showCall(store, conversation, audio) {
  part("connect").addEventListener("click", () => {
    void (isUnderWay(store.state) ? conversation.disconnect() : conversation.connect());
  });
  part("new-conversation").addEventListener("click", () => {
    conversation.startAnew();
    part("connect").focus();
  });
  part("mute").addEventListener("click", () => audio.mute(!store.state.microphone.muted));
  part("speak").addEventListener("click", () => void audio.speak());

  store.subscribe((state, before) => {
    const changed = STATE_PARTS.some((name) => state[name] !== before[name]) || hasBegun(state) !== hasBegun(before);
    if (changed) {
      setText(part("state"), stateWords(state));
      showButtons(state);
      document.body.dataset.phase = state.phase;
    }
    if (changed || state.floor !== before.floor || state.interruptions !== before.interruptions) showFloor(state);
    if (state.tally !== before.tally) showClock(state.tally);
    if (state.config !== before.config || state.session !== before.session) showFacts(state);
  });
  setInterval(() => isLive(store.state) && showClock(store.state.tally), TICK_MS);
}

/** @param {import("../store.js").State} state */
function isUnderWay(state) {
  return isLive(state) || isDialling(state);
}

/** @param {import("../store.js").State} state */
function stateWords({ phase, step, attempt, microphone, failure, session }) {
  switch (phase) {
    case "loading":
      return "Looking for the server…";
    case "ready":
      return "Ready to talk";
    case "connecting":
      return { microphone: "Waiting for the microphone…", fallback: "Trying without UDP…" }[step] ?? "Connecting…";
    case "connected":
      if (microphone.mode === "silent") return "Connected, without a microphone";
      if (microphone.muted) return "Connected, muted";
      return session?.transport === "websocket" ? "Connected, without UDP" : "Connected";
    case "shaky":
      return "The network is unstable, holding on…";
    case "reconnecting":
      return attempt > 1 ? `Reconnecting, attempt ${attempt}…` : "Reconnecting…";
    case "ended":
      return failure ? "Not connected" : "Call ended";
  }
}

/** @param {import("../store.js").State} state */
function showButtons(state) {
  const button = /** @type {HTMLButtonElement} */ (part("connect"));
  const busy = isUnderWay(state);
  label(button, busy ? (isLive(state) ? "Hang up" : "Cancel") : hasBegun(state) ? "Continue" : "Start talking");
  icon(button, busy ? "end" : "call");
  button.classList.toggle("ending", busy);
  button.disabled = state.phase === "loading";
  part("new-conversation").hidden = busy || !hasBegun(state);

  const { mode, muted, pushToTalk, talking } = state.microphone;
  const heard = isLive(state) && mode === "on";
  part("speak").hidden = !isLive(state) || mode !== "silent";
  const mute = part("mute");
  mute.hidden = !heard || pushToTalk;
  mute.setAttribute("aria-pressed", String(muted));
  label(mute, muted ? "Unmute" : "Mute");
  icon(mute, muted ? "muted" : "call");
  const hold = part("hold");
  hold.hidden = !heard || !pushToTalk;
  hold.setAttribute("aria-pressed", String(talking));
  label(hold, talking ? "Listening…" : "Hold to talk");
}

/** @param {import("../store.js").State} state */
function showFloor(state) {
  const { floor, microphone, interruptions } = state;
  const shown = isLive(state) ? floor : "closed";
  const busy = isDialling(state);
  const presence = part("presence");
  presence.dataset.floor = busy ? "connecting" : shown;
  presence.dataset.muted = String(isLive(state) && (microphone.muted || microphone.mode === "silent"));
  const waiting = shown === "listening" && microphone.pushToTalk && !microphone.talking;
  const words = shown === "assistant" && !interruptions.allowed ? "Speaking — interruptions are off" : FLOOR_WORDS[shown];
  setText(part("floor"), waiting ? "Hold space or the button to talk" : unheard(state, shown) || words || invitation(state));
}

/** What a caller does who cannot be heard. @param {import("../store.js").State} state @param {string} floor */
function unheard({ microphone }, floor) {
  if (floor !== "listening") return "";
  if (microphone.mode === "silent") return "Ready — type a question";
  return microphone.muted ? "Muted — unmute to speak" : "";
}

/** @param {import("../store.js").State} state */
function invitation(state) {
  const { phase } = state;
  if (phase === "ready") return hasBegun(state) ? "Continue where you left off" : "Speak as you would to a person";
  if (phase === "ended" && !state.failure && hasBegun(state)) return "Continue whenever you like";
  return phase === "reconnecting" ? "The conversation is kept" : "";
}

/** @param {import("../state/tally.js").Tally} tally */
function showClock({ startedAt, endedAt }) {
  setText(part("clock"), startedAt === null ? "" : clock((endedAt ?? Date.now()) - startedAt));
}

/** @param {number} ms */
export function clock(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** @param {HTMLElement} button @param {string} words */
function label(button, words) {
  setText(/** @type {Element} */ (button.querySelector(".label")), words);
}

/** @param {HTMLElement} button @param {string} name */
function icon(button, name) {
  button.querySelector("use")?.setAttribute("href", `#icon-${name}`);
}

/** @param {import("../store.js").State} state */
function showFacts({ config, session }) {
  const responder = config?.responder ?? {};
  const offline = Boolean(session?.offline ?? responder.offline);
  const facts = new Set([session?.responder ?? responder.name, session?.model ?? responder.model, memoryName(config)]);
  facts.delete("");
  facts.delete(undefined);
  setText(part("session-facts"), [...facts].join(" · "));
  part("session-facts").title = config?.memory?.label ?? "";
  const banner = part("offline-banner");
  banner.hidden = !offline;
  setText(banner, `On this machine: ${session?.model ?? responder.model}${warmingUp(config)}`);
}

/** What is still being loaded: a call may begin, and waits for it. @param {any} config */
function warmingUp(config) {
  const loading = config?.loading ?? [];
  return loading.length ? ` · warming up: ${loading.join(", ")}` : "";
}

/** The label without its remarks in parentheses: those stand in the line's tooltip. @param {any} config */
function memoryName(config) {
  return config?.memory?.label?.split(" (")[0];
}
