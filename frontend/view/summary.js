/** The summary of a call that is over: its duration, turns, Thinkers and times. */

import { medianOf } from "../state/tally.js";
import { duration, listOf, number, t } from "../texts.js";
import { clock } from "./call.js";
import { make, part } from "./dom.js";

/** @param {import("../store.js").Store} store */
export function showSummary(store) {
  const box = part("summary");
  store.subscribe((state, before) => {
    if (state.phase === before.phase && state.tally === before.tally) return;
    const over = state.phase === "ended" && state.tally.startedAt !== null;
    box.hidden = !over;
    if (over) part("summary-facts").replaceChildren(...facts(state.tally).map(factOf));
  });
}

/** @param {[string, string]} fact */
function factOf([name, value]) {
  const fact = make("div", "fact");
  fact.append(make("dt", "", name), make("dd", "figure", value));
  return fact;
}

/** @param {import("../state/tally.js").Tally} tally @returns {[string, string][]} */
function facts(tally) {
  const [median, answered] = [medianOf(tally.latencies), medianOf(tally.answers)];
  const asked = Object.entries(tally.thinkers).map(([label, times]) => (times > 1 ? `${label} ×${times}` : label));
  /** @type {[string, string][]} */
  const always = [
    [t("summary.duration"), clock((tally.endedAt ?? Date.now()) - (tally.startedAt ?? 0))],
    [t("summary.turns"), number(tally.turns)],
    [t("summary.thinkers"), listOf(asked) || t("summary.none")],
    [t("summary.median"), median === null ? "–" : duration(median)],
    [t("summary.answer"), answered === null ? "–" : duration(answered)],
  ];
  if (tally.interruptions) always.push([t("summary.interruptions"), number(tally.interruptions)]);
  if (tally.reconnections) always.push([t("summary.reconnections"), number(tally.reconnections)]);
  return always;
}
