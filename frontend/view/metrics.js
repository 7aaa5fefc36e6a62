/** Where the time of the last turn went, leg by leg. */

import { make, part, setText } from "./dom.js";

/** The legs in their order; together they make the total. */
const LEGS = [
  ["hangover_ms", "End of your speech"],
  ["commit_ms", "Turn handed over"],
  ["reply_started_ms", "Reply begun"],
  ["first_audio_ms", "First sound made"],
  ["played_ms", "Sent to you"],
];

/** @param {import("../store.js").Store} store */
export function showMetrics(store) {
  const box = part("metrics");
  store.subscribe((state, before) => {
    if (state.metrics === before.metrics) return;
    box.hidden = !state.metrics;
    if (state.metrics) draw(box, state.metrics);
  });
}

/** @param {HTMLElement} box @param {Record<string, number>} metrics */
function draw(box, metrics) {
  setText(part("metrics-total"), `${Math.round(metrics.total_ms)} ms`);
  const legs = LEGS.filter(([name]) => Number.isFinite(metrics[name]));
  box.querySelector(".turn-bar")?.replaceChildren(...legs.map(([name]) => segment(name, metrics[name])));
  box.querySelector(".turn-legs")?.replaceChildren(...legs.flatMap(([name, words]) => row(name, words, metrics[name])));
}

/** @param {string} name @param {number} ms */
function segment(name, ms) {
  const span = make("span", `leg ${name}`);
  span.style.setProperty("flex-grow", String(Math.max(ms, 0)));
  return span;
}

/** @param {string} name @param {string} words @param {number} ms */
function row(name, words, ms) {
  return [make("dt", `leg ${name}`, words), make("dd", "", `${Math.round(ms)} ms`)];
}
