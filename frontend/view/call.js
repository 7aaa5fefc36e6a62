/** The call's state in words, its one button, mute, and who is on the line. */

import { part, setText } from "./dom.js";

const FLOOR_WORDS = {
  listening: "Listening — go ahead",
  user: "Hearing you",
  assistant: "Speaking",
  held: "Paused — are you taking over?",
  closed: "",
};

/** What the state line and the buttons depend on. @type {readonly (keyof import("../store.js").State)[]} */
const STATE_PARTS = ["phase", "step", "microphone", "failure"];

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function showCall(store, conversation) {
  const button = /** @type {HTMLButtonElement} */ (part("connect"));
  const mute = /** @type {HTMLButtonElement} */ (part("mute"));
  button.addEventListener("click", () => void (inCall(store.state) ? conversation.disconnect() : conversation.connect()));
  mute.addEventListener("click", () => conversation.mute(!store.state.microphone.muted));

  store.subscribe((state, before) => {
    if (STATE_PARTS.some((name) => state[name] !== before[name])) {
      setText(part("state"), stateWords(state));
      showButtons(button, mute, state);
    }
    if (state.floor !== before.floor || state.phase !== before.phase) showFloor(state);
    if (state.config !== before.config || state.session !== before.session) showFacts(state);
  });
}

/** @param {import("../store.js").State} state */
function inCall({ phase }) {
  return phase === "connecting" || phase === "connected" || phase === "shaky";
}

/** @param {import("../store.js").State} state */
function stateWords({ phase, step, microphone, failure }) {
  switch (phase) {
    case "loading":
      return "Looking for the server…";
    case "ready":
      return "Ready to talk";
    case "connecting":
      return step === "microphone" ? "Waiting for the microphone…" : "Connecting…";
    case "connected":
      if (microphone.mode === "silent") return "Connected, without a microphone";
      return microphone.muted ? "Connected, muted" : "Connected";
    case "shaky":
      return "The network falters, holding on…";
    case "ended":
      return failure ? "Not connected" : "Call ended";
  }
}

/** @param {HTMLButtonElement} button @param {HTMLButtonElement} mute @param {import("../store.js").State} state */
function showButtons(button, mute, state) {
  const busy = inCall(state);
  setText(button, busy ? (state.phase === "connecting" ? "Cancel" : "Disconnect") : "Connect");
  button.classList.toggle("ending", busy);
  button.disabled = state.phase === "loading";
  mute.hidden = !(state.phase === "connected" || state.phase === "shaky") || state.microphone.mode !== "on";
  mute.setAttribute("aria-pressed", String(state.microphone.muted));
  setText(mute, state.microphone.muted ? "Unmute" : "Mute");
}

/** @param {import("../store.js").State} state */
function showFloor(state) {
  const live = state.phase === "connected" || state.phase === "shaky";
  const floor = live ? state.floor : "closed";
  part("presence").dataset.floor = state.phase === "connecting" ? "connecting" : floor;
  setText(part("floor"), FLOOR_WORDS[floor]);
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
  setText(banner, "Offline demonstration: speech recognition and voice are simple stand-ins.");
}

/** The label without its remarks in parentheses: those stand in the line's tooltip. @param {any} config */
function memoryName(config) {
  return config?.memory?.label?.split(" (")[0];
}
