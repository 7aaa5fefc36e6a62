/** One card per Thinker call: what was asked, how long it took, where the answer came from. */

import { isWorking } from "../state/thinkers.js";
import { follow, make, part, setText } from "./dom.js";

const TICK_MS = 200;

const STATE_WORDS = {
  routed: "Asked",
  working: "Thinking",
  complete: "Answered",
  failed: "Failed",
  stale: "Too late to be spoken",
  abandoned: "Not finished",
};

/** Sample data is named as such: it must never pass for the real thing. @type {Record<string, string>} */
const SOURCE_WORDS = { live: "live data", cache: "from cache", sample: "sample data", model: "model's knowledge" };

/** @typedef {import("../state/thinkers.js").Thinker} Thinker */

/** @param {import("../store.js").Store} store */
export function showThinkers(store) {
  const list = part("thinkers");
  const shown = new Map();
  const empty = list.appendChild(make("li", "empty", ""));
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let ticking;

  store.subscribe((state, before) => {
    if (state.config !== before.config) setText(empty, introduction(state.config));
    if (state.thinkers === before.thinkers) return;
    empty.hidden = state.thinkers.length > 0;
    follow(list, shown, state.thinkers, (thinker) => thinker.id, createCard, updateCard);
    clearInterval(ticking);
    if (state.thinkers.some(isWorking)) ticking = setInterval(() => tick(shown), TICK_MS);
  });
}

/** @param {any} config */
function introduction(config) {
  const labels = (config?.thinkers ?? []).map((/** @type {any} */ thinker) => thinker.label);
  return labels.length ? `Standing by: ${labels.join(", ")}.` : "Their work will show here.";
}

function createCard() {
  const card = make("li", "thinker");
  card.dataset.testid = "thinker";
  const head = make("div", "thinker-head");
  head.append(make("strong", "thinker-label"), make("span", "thinker-state"));
  const foot = make("p", "thinker-foot");
  foot.append(make("span", "thinker-time"), make("span", "thinker-source"));
  card.append(head, make("p", "thinker-query"), make("p", "thinker-detail"), foot);
  return card;
}

/** @param {HTMLElement} card @param {Thinker} thinker */
function updateCard(card, thinker) {
  card.className = `thinker ${thinker.state}`;
  card.dataset.state = thinker.state;
  card.dataset.domain = thinker.domain;
  fill(card, ".thinker-label", thinker.label);
  fill(card, ".thinker-state", STATE_WORDS[thinker.state] ?? thinker.state);
  fill(card, ".thinker-query", thinker.query);
  fill(card, ".thinker-detail", thinker.error || thinker.detail);
  fill(card, ".thinker-time", seconds(thinker.elapsedMs));
  const source = /** @type {HTMLElement} */ (card.querySelector(".thinker-source"));
  source.dataset.source = thinker.source;
  setText(source, SOURCE_WORDS[thinker.source] ?? thinker.source);
}

/** @param {HTMLElement} card @param {string} selector @param {string} text */
function fill(card, selector, text) {
  setText(/** @type {Element} */ (card.querySelector(selector)), text);
}

/** @param {Map<string | number, {item: Thinker, node: HTMLElement}>} shown */
function tick(shown) {
  for (const { item, node } of shown.values()) {
    if (isWorking(item)) fill(node, ".thinker-time", seconds(item.elapsedMs + Date.now() - item.seenAt));
  }
}

/** @param {number} ms */
function seconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
