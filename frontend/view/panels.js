/**
 * The panels that open and close: the activity beside the conversation (on narrow windows), the memory, the
 * past conversations, the settings, the developer's drawer. A panel's content is loaded when it is first opened: the first page needs
 * none of it.
 */

import { part } from "./dom.js";

/**
 * @typedef {object} PanelContext what a panel may reach
 * @property {import("../store.js").Store} store
 * @property {import("../conversation.js").Conversation} conversation
 *
 * @typedef {object} Panel what a panel is notified of
 * @property {() => void} [opened] every time it was opened, the first time too
 * @property {() => void} [closed]
 *
 * @typedef {(place: HTMLElement, context: PanelContext) => Panel} ShowPanel fills the place, once
 */

/** Where the parts of a panel come from. @type {Record<string, () => Promise<{show: ShowPanel}>>} */
const CONTENTS = {
  memory: () => import("./memory.js"),
  past: () => import("./past.js"),
  settings: () => import("./settings.js"),
  drawer: () => import("./drawer.js"),
};

/** @param {PanelContext} context */
export function showPanels(context) {
  for (const button of document.querySelectorAll("[data-opens]")) {
    wire(/** @type {HTMLButtonElement} */ (button), context);
  }
}

/** @param {HTMLButtonElement} button @param {PanelContext} context */
function wire(button, context) {
  const name = button.dataset.opens ?? "";
  const place = part(name);
  /** @type {Promise<Panel> | null} */
  let filled = null;
  const fill = () => (filled ??= CONTENTS[name]?.().then(({ show }) => show(place, context)) ?? Promise.resolve({}));
  const changed = (/** @type {boolean} */ open) => {
    if (!(place instanceof HTMLDialogElement)) button.setAttribute("aria-expanded", String(open));
    void fill().then((panel) => (open ? panel.opened?.() : panel.closed?.()));
  };
  button.addEventListener("click", () => {
    const open = !isOpen(place);
    setOpen(place, open);
    changed(open);
  });
  place.addEventListener("close", () => changed(false));
  place.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || place instanceof HTMLDialogElement) return;
    setOpen(place, false);
    changed(false);
    button.focus();
  });
}

/** @param {HTMLElement} place */
function isOpen(place) {
  if (place instanceof HTMLDialogElement) return place.open;
  return place.classList.contains("open");
}

/** @param {HTMLElement} place @param {boolean} open */
function setOpen(place, open) {
  if (place instanceof HTMLDialogElement) return open ? place.showModal() : place.close();
  place.classList.toggle("open", open);
  if (place.matches(".drawer")) place.hidden = !open;
}
