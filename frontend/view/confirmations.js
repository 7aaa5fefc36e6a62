/** What the user is asked to agree to stands on top until it is answered: the very call, with its arguments. */

import { actOf } from "../state/confirmations.js";
import { t } from "../texts.js";
import { follow, make, part, setText } from "./dom.js";

/** @typedef {import("../state/confirmations.js").Confirmation} Confirmation */

/**
 * @param {import("../store.js").Store} store
 * @param {(id: string, agreed: boolean) => void} answer
 */
export function showConfirmations(store, answer) {
  const place = part("confirmations");
  const shown = new Map();
  store.subscribe((state, before) => {
    if (state.confirmations === before.confirmations) return;
    place.hidden = !state.confirmations.length;
    follow(place, shown, state.confirmations, ({ id }) => id, () => create(answer), update);
  });
}

/** @param {(id: string, agreed: boolean) => void} answer */
function create(answer) {
  const box = make("div", "reminder");
  box.dataset.testid = "confirmation";
  const words = make("p", "");
  words.append(make("strong", "", t("confirm.question")), make("span", "reminder-text"));
  const choices = make("div", "tools");
  for (const [name, agreed] of /** @type {[string, boolean][]} */ ([["agree", true], ["refuse", false]])) {
    const button = make("button", "quiet", t(agreed ? "confirm.yes" : "confirm.no"));
    button.type = "button";
    button.dataset.testid = `confirmation-${name}`;
    button.addEventListener("click", () => answer(box.dataset.confirmation ?? "", agreed));
    choices.append(button);
  }
  box.append(words, choices);
  return box;
}

/** @param {HTMLElement} box @param {Confirmation} confirmation */
function update(box, confirmation) {
  const act = actOf(confirmation);
  box.dataset.confirmation = confirmation.id;
  setText(box.children[0].children[1], act);
  const [agree, refuse] = box.children[1].children;
  agree.ariaLabel = t("confirm.choice", { choice: t("confirm.yes"), act });
  refuse.ariaLabel = t("confirm.choice", { choice: t("confirm.no"), act });
}
