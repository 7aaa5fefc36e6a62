/**
 * The settings of the page that the user's profile keeps: theme, captions, interruptions. The browser has a copy, so that
 * the first paint waits for no server, and follows the profile once that is loaded.
 */

import { memoryOf } from "./memory.js";
import { remember } from "./remembered.js";
import { isLive } from "./store.js";

/** What holds where the user has not chosen. */
const USUAL = Object.freeze({ theme: "system", captions: "on", interruptions: "on" });
/** @typedef {keyof typeof USUAL} Name */

/** Load the user's choices and follow them, also when they are changed or erased later. @param {import("./store.js").Store} store */
export function followKeptSettings(store) {
  store.subscribe((state, before) => {
    const [now, earlier] = [state.memory.known, before.memory?.known];
    if (!now || now === earlier) return;
    for (const name of /** @type {Name[]} */ (Object.keys(USUAL))) {
      const value = now.preferences[name] ?? (earlier?.preferences[name] && USUAL[name]);
      if (value && value !== earlier?.preferences[name]) follow(store, name, value);
    }
  });
  void memoryOf(store).renew();
}

/** Use a choice in this browser from now on. @param {import("./store.js").Store} store @param {Name} name @param {string} value */
function follow(store, name, value) {
  if (name === "interruptions") {
    remember(name, value);
    if (!isLive(store.state)) store.dispatch("page_interruptions", { allowed: value === "on" });
  } else {
    changeAppearance(name, value);
  }
}

/** @param {"theme" | "captions"} name @param {string} value */
export function changeAppearance(name, value) {
  remember(name, value === USUAL[name] ? "" : value);
  document.dispatchEvent(new Event("appearancechange"));
}
