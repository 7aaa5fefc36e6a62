/** Push-to-talk: heard only while the space bar or the button is held. */

import { isLive } from "./call.js";
import { part } from "./dom.js";

/** Where the space bar has a meaning of its own. */
const TAKES_SPACE = "input, textarea, select, button, summary, a[href], dialog[open] *, [contenteditable]";

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function heedTalkKey(store, conversation) {
  const button = part("hold");
  const wanted = () => store.state.microphone.pushToTalk && isLive(store.state);
  const hold = () => wanted() && conversation.talk(true);
  const letGo = () => conversation.talk(false);

  addEventListener("keydown", (event) => {
    if (event.code !== "Space" || !wanted() || !isOurs(event.target, button)) return;
    event.preventDefault();
    if (!event.repeat) hold();
  });
  addEventListener("keyup", (event) => event.code === "Space" && letGo());
  button.addEventListener("pointerdown", (event) => {
    button.setPointerCapture(event.pointerId);
    hold();
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) {
    button.addEventListener(name, letGo);
  }
  // A key let go while the window was elsewhere is never told: better unheard than overheard.
  addEventListener("blur", letGo);
  store.subscribe((state) => isLive(state) || letGo());
}

/** @param {EventTarget | null} target @param {HTMLElement} button */
function isOurs(target, button) {
  return !(target instanceof Element) || target === button || !target.closest(TAKES_SPACE);
}
