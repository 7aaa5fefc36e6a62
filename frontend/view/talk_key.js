/** Push-to-talk: sound is sent only while the space bar or the button is held. */

import { isLive } from "../store.js";
import { part } from "./dom.js";

/** Elements in which the space bar has a meaning of its own. */
const TAKES_SPACE = "input, textarea, select, button, summary, a[href], dialog[open] *, [contenteditable]";

/**
 * @param {import("../store.js").Store} store
 * @param {import("../client/call_audio.js").CallAudio} audio
 */
export function listenForTalkKey(store, audio) {
  const button = part("hold");
  const wanted = () => store.state.microphone.pushToTalk && isLive(store.state);
  const hold = () => wanted() && audio.talk(true);
  const release = () => audio.talk(false);

  addEventListener("keydown", (event) => {
    if (event.code !== "Space" || !wanted() || !isOurs(event.target, button)) return;
    event.preventDefault();
    if (!event.repeat) hold();
  });
  addEventListener("keyup", (event) => event.code === "Space" && release());
  button.addEventListener("pointerdown", (event) => {
    button.setPointerCapture(event.pointerId);
    hold();
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) {
    button.addEventListener(name, release);
  }
  // A key released while another window has the focus is never reported: stop sending, to be safe.
  addEventListener("blur", release);
  store.subscribe((state) => isLive(state) || release());
}

/** @param {EventTarget | null} target @param {HTMLElement} button */
function isOurs(target, button) {
  return !(target instanceof Element) || target === button || !target.closest(TAKES_SPACE);
}
