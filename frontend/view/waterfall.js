/** Where the time of the turns went. */

import { make, setText } from "./dom.js";

/** The legs in their order; together they make the total. */
const LEGS = [
  ["hangover_ms", "End of your speech"],
  ["commit_ms", "Turn handed over"],
  ["reply_started_ms", "Reply begun"],
  ["first_audio_ms", "First sound made"],
  ["played_ms", "Sent to you"],
];

/** @param {HTMLElement} place @param {import("../store.js").Store} store */
export function showWaterfall(place, store) {
  const box = make("div", "turn");
  box.dataset.testid = "metrics";
  box.hidden = true;
  const total = make("span", "");
  total.dataset.testid = "metrics-total";
  const line = make("p", "turn-total");
  line.append(total, " ", make("span", "dim", "from your last word to the first sound"));
  const bar = make("div", "turn-bar");
  bar.ariaHidden = "true";
  const legs = make("dl", "turn-legs");
  box.append(make("h2", "", "Last turn"), line, bar, legs);
  place.append(box);
  store.subscribe((state, before) => {
    if (state.metrics === before.metrics) return;
    box.hidden = !state.metrics;
    if (!state.metrics) return;
    const metrics = state.metrics;
    const known = LEGS.filter(([name]) => Number.isFinite(metrics[name]));
    setText(total, `${Math.round(metrics.total_ms)} ms`);
    bar.replaceChildren(...known.map(([name]) => segment(name, metrics[name])));
    legs.replaceChildren(...known.flatMap(([name, words]) => row(name, words, metrics[name])));
  });
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
