/** The texts that stand in the document itself: in English there, and in the user's language once that is loaded. */

import { t } from "../texts.js";

/** @typedef {import("../texts.js").Key} Key */

/** The attributes with texts, by the attribute that holds their key. */
const ATTRIBUTES = { "data-t-label": "aria-label", "data-t-title": "title", "data-t-placeholder": "placeholder" };

/** @param {Element} element @param {string} mark */
function keyIn(element, mark) {
  return /** @type {Key} */ (element.getAttribute(mark));
}

/** Write every text of the document that is marked with its key. */
export function showStaticTexts() {
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(keyIn(element, "data-t"));
  for (const [mark, attribute] of Object.entries(ATTRIBUTES)) {
    for (const element of document.querySelectorAll(`[${mark}]`)) element.setAttribute(attribute, t(keyIn(element, mark)));
  }
}
