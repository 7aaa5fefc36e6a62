/** Typed input, and example questions from the Thinkers there are. */

import { isLive as live } from "../store.js";
import { t } from "../texts.js";
import { make, part } from "./dom.js";

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function showComposer(store, conversation) {
  const form = /** @type {HTMLFormElement} */ (part("composer"));
  const input = /** @type {HTMLInputElement} */ (part("composer-text"));
  const send = /** @type {HTMLButtonElement} */ (part("composer-send"));
  const examples = part("examples");

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void sendTyped(input, store, conversation);
  });
  input.addEventListener("input", () => arm(send, input, store.state));
  store.subscribe((state, before) => {
    if (state.config !== before.config) {
      examples.replaceChildren(...chips(state.config, (text) => offer(text, input, store, conversation)));
    }
    if (state.phase !== before.phase || state.microphone !== before.microphone) {
      input.placeholder = t(live(state) && state.microphone.mode === "on" ? "talk.speak_or_type" : "talk.type");
      arm(send, input, state);
    }
  });
}

/** @param {HTMLButtonElement} send @param {HTMLInputElement} input @param {import("../store.js").State} state */
function arm(send, input, state) {
  send.disabled = state.phase === "loading" || !input.value.trim();
}

/**
 * @param {HTMLInputElement} input
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
async function sendTyped(input, store, conversation) {
  const text = input.value.trim();
  if (!text || store.state.phase === "loading") return;
  input.value = "";
  input.dispatchEvent(new Event("input"));
  const taken = await conversation.type(text);
  if (taken || input.value) return;
  input.value = text;
  input.dispatchEvent(new Event("input"));
}

/** @param {any} config @param {(text: string) => void} onPick */
function chips(config, onPick) {
  const thinkers = (config?.thinkers ?? []).filter((/** @type {any} */ thinker) => thinker.example);
  return thinkers.map((/** @type {any} */ { example, label, description }) => {
    const chip = make("button", "chip", example);
    chip.type = "button";
    chip.title = `${label}: ${description}`;
    chip.addEventListener("click", () => onPick(example));
    return chip;
  });
}

/**
 * Send an example; where no call is under way, one begins.
 * @param {string} text
 * @param {HTMLInputElement} input
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
function offer(text, input, store, conversation) {
  input.value = text;
  input.dispatchEvent(new Event("input"));
  void sendTyped(input, store, conversation);
}
