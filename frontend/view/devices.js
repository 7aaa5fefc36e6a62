/** The choice of microphone and speaker, and of push-to-talk, behind one button; remembered for the next visit. */

import { dropFingerprint, prepareFingerprint } from "../fingerprint.js";
import { remember, remembered } from "../remembered.js";
import { t } from "../texts.js";
import { make, part } from "./dom.js";

/** @typedef {import("../client/devices.js").Device} Device */

/**
 * @param {import("../store.js").Store} store
 * @param {import("../client/call_audio.js").CallAudio} audio
 */
export function showDevices(store, audio) {
  wireButton(part("open-devices"), part("devices"));
  const microphone = select("microphone", (id) => void audio.chooseMicrophone(id));
  const speaker = select("speaker", (id) => void audio.chooseSpeaker(id));
  const push = /** @type {HTMLInputElement} */ (part("push-to-talk"));
  push.addEventListener("change", () => {
    remember("push-to-talk", push.checked ? "1" : "");
    audio.pushToTalk(push.checked);
  });
  store.dispatch("page_microphone", { chosen: remembered("microphone"), pushToTalk: remembered("push-to-talk") === "1" });
  askToRecognise(store);
  const wish = remembered("interruptions");
  if (wish) store.dispatch("page_interruptions", { allowed: wish === "on" });
  const sink = remembered("speaker");
  if (sink) void audio.chooseSpeaker(sink);

  store.subscribe((state, before) => {
    if (state.microphone !== before.microphone) {
      offer(microphone, state.microphone);
      push.checked = state.microphone.pushToTalk;
    }
    if (state.speaker === before.speaker) return;
    part("speaker-field").hidden = !state.speaker.choosable;
    offer(speaker, state.speaker);
  });
}

/** Offer to be recognised where the server asks for it: nothing of the browser is read before. @param {import("../store.js").Store} store */
function askToRecognise(store) {
  const recognise = /** @type {HTMLInputElement} */ (part("recognise"));
  const agree = () => {
    if (recognise.checked) prepareFingerprint();
    else dropFingerprint();
  };
  recognise.addEventListener("change", () => {
    remember("recognise", recognise.checked ? "1" : "");
    agree();
  });
  store.subscribe((state, before) => {
    if (state.config === before.config || !state.config?.fingerprint) return;
    part("recognise-field").hidden = false;
    recognise.checked = remembered("recognise") === "1";
    agree();
  });
}

/** Opens and closes; Escape and a press elsewhere close, too. @param {HTMLElement} button @param {HTMLElement} panel */
function wireButton(button, panel) {
  const show = (/** @type {boolean} */ open) => {
    panel.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open) keepOnScreen(panel);
  };
  addEventListener("resize", () => panel.hidden || keepOnScreen(panel));
  button.addEventListener("click", () => show(panel.hidden));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    show(false);
    button.focus();
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (panel.hidden || !(target instanceof Node) || panel.contains(target) || button.contains(target)) return;
    show(false);
  });
}

const EDGE_PX = 8;

/** Move a panel that stands beside its button so that no part of it is off the screen. @param {HTMLElement} panel */
function keepOnScreen(panel) {
  panel.style.translate = "none";
  const { left, right, top } = panel.getBoundingClientRect();
  const x = left < EDGE_PX ? EDGE_PX - left : Math.min(0, innerWidth - EDGE_PX - right);
  panel.style.translate = `${x}px ${Math.max(0, EDGE_PX - top)}px`;
}

/** @param {string} name @param {(id: string) => void} choose */
function select(name, choose) {
  const element = /** @type {HTMLSelectElement} */ (part(name));
  element.addEventListener("change", () => {
    remember(name, element.value);
    choose(element.value);
  });
  return element;
}

/** @param {HTMLSelectElement} select @param {{devices: readonly Device[], chosen: string}} choice */
function offer(select, { devices, chosen }) {
  const unnamed = t(select.dataset.testid === "speaker" ? "sound.speaker" : "sound.microphone");
  const options = [{ id: "", label: t("sound.default") }, ...devices.map(({ id, label }) => ({ id, label: label || unnamed }))];
  const shown = Array.from(select.options, ({ value, text }) => `${value} ${text}`);
  if (shown.join("\n") !== options.map(({ id, label }) => `${id} ${label}`).join("\n")) {
    select.replaceChildren(...options.map(({ id, label }) => Object.assign(make("option", "", label), { value: id })));
  }
  select.value = options.some(({ id }) => id === chosen) ? chosen : "";
}
