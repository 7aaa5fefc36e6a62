/** The call's state in words, how long it lasts, its one button, mute or hold-to-talk, and the service that answers. */

import { isDialling, isLive } from "../store.js";
import { listOf, t } from "../texts.js";
import { part, setText } from "./dom.js";

/** @type {Record<import("../store.js").Floor, import("../texts.js").Key | "">} */
const FLOOR_TEXTS = {
  listening: "floor.listening",
  user: "floor.user",
  pausing: "floor.user",
  assistant: "floor.assistant",
  held: "floor.held",
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
      return t("state.loading");
    case "ready":
      return t("state.ready");
    case "connecting":
      if (step === "microphone") return t("state.microphone");
      return t(step === "fallback" ? "state.fallback" : "state.connecting");
    case "connected":
      if (microphone.mode === "silent") return t("state.silent");
      if (microphone.muted) return t("state.muted");
      return t(session?.transport === "websocket" ? "state.websocket" : "state.connected");
    case "shaky":
      return t("state.shaky");
    case "reconnecting":
      return attempt > 1 ? t("state.reconnecting_again", { attempt }) : t("state.reconnecting");
    case "ended":
      return t(failure ? "state.failed" : "state.ended");
  }
}

/** @param {import("../store.js").State} state */
function showButtons(state) {
  const button = /** @type {HTMLButtonElement} */ (part("connect"));
  const busy = isUnderWay(state);
  label(button, t(busy ? (isLive(state) ? "call.hang_up" : "call.cancel") : hasBegun(state) ? "call.continue" : "call.start"));
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
  label(mute, t(muted ? "call.unmute" : "call.mute"));
  icon(mute, muted ? "muted" : "call");
  const hold = part("hold");
  hold.hidden = !heard || !pushToTalk;
  hold.setAttribute("aria-pressed", String(talking));
  label(hold, t(talking ? "call.holding" : "call.hold"));
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
  const key = shown === "assistant" && !interruptions.allowed ? "floor.uninterruptible" : FLOOR_TEXTS[shown];
  setText(part("floor"), waiting ? t("floor.push") : unheard(state, shown) || (key && t(key)) || invitation(state));
}

/** What a caller who cannot be heard may do. @param {import("../store.js").State} state @param {string} floor */
function unheard({ microphone }, floor) {
  if (floor !== "listening") return "";
  if (microphone.mode === "silent") return t("floor.silent");
  return microphone.muted ? t("floor.muted") : "";
}

/** @param {import("../store.js").State} state */
function invitation(state) {
  const { phase } = state;
  if (phase === "ready") return t(hasBegun(state) ? "floor.continue" : "floor.begin");
  if (phase === "ended" && !state.failure && hasBegun(state)) return t("floor.ended");
  return phase === "reconnecting" ? t("floor.kept") : "";
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
  setText(banner, [t("page.offline", { model: session?.model ?? responder.model ?? "" }), warmingUp(config)].filter(Boolean).join(" · "));
}

/** What is still being loaded: a call may begin, and waits for it. @param {any} config */
function warmingUp(config) {
  const loading = config?.loading ?? [];
  return loading.length ? t("page.warming_up", { parts: listOf(loading) }) : "";
}

/** The label without its remarks in parentheses: those stand in the line's tooltip. @param {any} config */
function memoryName(config) {
  return config?.memory?.label?.split(" (")[0];
}
