/** The notice of a failure: its words, a button for each thing to do next, and a countdown for a server that is busy. */

import { t } from "../texts.js";
import { make, part, setText } from "./dom.js";

/**
 * @param {import("../store.js").Store} store
 * @param {Record<import("../failures.js").WayOn, () => void>} ways
 */
export function showFailure(store, ways) {
  const box = part("notice");
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let counting;
  store.subscribe((state, before) => {
    if (state.failure === before.failure) return;
    clearInterval(counting);
    box.hidden = !state.failure;
    if (!state.failure) return box.replaceChildren();
    draw(box, state.failure, t(state.phase === "reconnecting" ? "way.retry_now" : "way.retry"), ways);
    const { retryAt } = state.failure;
    if (retryAt) counting = countDown(box, retryAt);
  });
}

/**
 * @param {HTMLElement} box
 * @param {import("../failures.js").Failure} failure
 * @param {string} retry words for trying again
 * @param {Record<string, () => void>} ways
 */
function draw(box, failure, retry, ways) {
  box.dataset.kind = failure.kind;
  const words = make("div", "notice-words");
  words.append(make("strong", "", failure.title), make("p", "", failure.hint));
  const buttons = make("div", "notice-ways");
  buttons.append(...failure.ways.map((way) => wayButton(way, way === "retry" ? retry : t(`way.${way}`), ways[way])));
  box.replaceChildren(words, buttons);
}

/** @param {import("../failures.js").WayOn} way @param {string} words @param {() => void} go */
function wayButton(way, words, go) {
  const button = make("button", "quiet", words);
  button.type = "button";
  button.dataset.testid = `way-${way}`;
  button.addEventListener("click", go);
  return button;
}

/** @param {HTMLElement} box @param {number} retryAt page clock, ms */
function countDown(box, retryAt) {
  const button = /** @type {HTMLButtonElement} */ (box.querySelector("[data-testid=way-retry]"));
  const show = () => {
    const seconds = Math.ceil((retryAt - Date.now()) / 1000);
    button.disabled = seconds > 0;
    setText(button, seconds > 0 ? t("way.retry_in", { count: seconds }) : t("way.retry"));
    if (seconds <= 0) clearInterval(timer);
  };
  const timer = setInterval(show, 250);
  show();
  return timer;
}
