/** The choice of microphone, remembered for the next visit. */

import { make, part } from "./dom.js";

const MEMORY = "microphone";

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function showMicrophones(store, conversation) {
  const select = /** @type {HTMLSelectElement} */ (part("microphone"));
  select.addEventListener("change", () => {
    remember(select.value);
    void conversation.chooseMicrophone(select.value);
  });
  store.dispatch("page_microphone", { chosen: remembered() });
  store.subscribe((state, before) => {
    if (state.microphone !== before.microphone) offer(select, state.microphone);
  });
}

/** @param {HTMLSelectElement} select @param {import("../store.js").State["microphone"]} microphone */
function offer(select, { devices, chosen }) {
  const options = [{ id: "", label: "System default" }, ...devices];
  const shown = Array.from(select.options, ({ value, text }) => `${value} ${text}`);
  if (shown.join("\n") !== options.map(({ id, label }) => `${id} ${label}`).join("\n")) {
    select.replaceChildren(...options.map(({ id, label }) => Object.assign(make("option", "", label), { value: id })));
  }
  select.value = options.some(({ id }) => id === chosen) ? chosen : "";
}

/** Storage may be forbidden; then the choice lasts as long as the page. @param {string} id */
function remember(id) {
  try {
    localStorage.setItem(MEMORY, id);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

function remembered() {
  try {
    return localStorage.getItem(MEMORY) ?? "";
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return "";
  }
}
