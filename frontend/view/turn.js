/** One turn as a picture: its legs, its Thinkers and their tools on one scale, and the same as a table. */

import { pausesInWords, segments, span } from "../state/turns.js";
import { duration, listOf, t } from "../texts.js";
import { make } from "./dom.js";

/**
 * @typedef {import("../state/turns.js").Turn} Turn
 * @typedef {{name: string, words: string, start: number, end: number, open?: boolean, kind: "leg" | "work" | "tool"}} Bar
 */

/** A time as the waterfall shows it: in milliseconds up to ten seconds. @param {number} ms */
export function precise(ms) {
  return duration(ms, 10_000);
}

/** The bar of a turn's legs, `scale` ms wide. @param {import("../state/turns.js").Metrics} metrics @param {number} scale */
export function legsBar(metrics, scale) {
  const track = make("span", "track");
  track.ariaHidden = "true";
  for (const { name, start, ms } of segments(metrics)) {
    if (ms > 0) track.append(barOf(`leg ${name}`, start, start + ms, scale));
  }
  return track;
}

/**
 * The whole picture with its table, which shows the session's medians beside this turn's figures.
 * @param {Turn} turn
 * @param {import("../state/turns.js").Medians | null} medians
 * @returns {HTMLElement[]}
 */
export function picture(turn, medians) {
  const scale = span(turn);
  const lanes = make("div", "lanes");
  lanes.role = "img";
  lanes.ariaLabel = inWords(turn);
  if (turn.metrics) lanes.append(lane(t("turn.lane"), legsBar(turn.metrics, scale), "leg"));
  for (const bar of barsOf(turn).filter(({ kind }) => kind !== "leg")) {
    const track = make("span", "track");
    track.append(barOf(`${bar.kind} ${bar.name}`, bar.start, bar.end, scale));
    lanes.append(lane(bar.words, track, bar.kind));
  }
  lanes.append(axis(scale));
  const pauses = pausesInWords(turn);
  const said = make("p", "turn-pauses dim", pauses);
  said.dataset.testid = "turn-pauses";
  return [lanes, ...(turn.metrics ? [legend()] : []), ...(pauses ? [said] : []), table(turn, medians)];
}

/** @param {Turn} turn @returns {Bar[]} */
function barsOf(turn) {
  const legs = turn.metrics ? segments(turn.metrics) : [];
  const scale = span(turn);
  return [
    ...legs.map(({ name, words, start, ms }) => ({ name, words, start, end: start + ms, kind: /** @type {const} */ ("leg") })),
    ...turn.works.flatMap((work) => [
      { name: work.state, words: work.label, start: work.start, end: work.end ?? scale, open: work.end === null, kind: /** @type {const} */ ("work") },
      ...work.tools.map((tool) => ({
        name: tool.failed ? "failed" : "",
        words: tool.name.replaceAll("_", " "),
        start: tool.start,
        end: tool.end ?? scale,
        open: tool.end === null,
        kind: /** @type {const} */ ("tool"),
      })),
    ]),
  ];
}

/** @param {Turn} turn */
function inWords(turn) {
  const whole = turn.metrics ? [t("turn.whole", { time: precise(turn.metrics.first_sound_ms) })] : [];
  const legs = turn.metrics ? segments(turn.metrics).map(({ words, ms }) => t("turn.part", { part: words, time: precise(ms) })) : [];
  const works = turn.works.map(({ label, start, end }) => t("turn.part", { part: label, time: end === null ? t("turn.working") : precise(end - start) }));
  return t("turn.in_words", { turn: turn.turn, parts: listOf([...whole, ...legs, ...works]) });
}

/** @param {string} words @param {HTMLElement} track @param {string} kind */
function lane(words, track, kind) {
  const row = make("div", `lane of-${kind}`);
  const name = make("span", "lane-name", words);
  name.title = words;
  row.append(name, track);
  return row;
}

/** @param {string} className @param {number} start @param {number} end @param {number} scale */
function barOf(className, start, end, scale) {
  const bar = make("span", `bar ${className}`);
  bar.style.setProperty("left", `${(start / scale) * 100}%`);
  bar.style.setProperty("width", `${(Math.max(0, end - start) / scale) * 100}%`);
  return bar;
}

/** @param {number} scale */
function axis(scale) {
  const ticks = make("span", "axis figure");
  ticks.append(...[0, scale / 2, scale].map((ms) => make("span", "", precise(ms))));
  return lane("", ticks, "axis");
}

function legend() {
  const list = make("ul", "legend");
  list.ariaHidden = "true";
  list.append(...segments({}).map(({ name, words }) => make("li", `leg ${name}`, words)));
  return list;
}

/** @param {Turn} turn @param {import("../state/turns.js").Medians | null} medians */
function table(turn, medians) {
  const box = make("details", "as-table");
  box.dataset.testid = "turn-table";
  const rows = make("tbody", "");
  for (const { name: leg, words, start, end, kind, open } of barsOf(turn)) {
    const row = make("tr", `of-${kind}`);
    const name = make("th", "", words);
    name.scope = "row";
    const middle = kind === "leg" && medians ? cell(medians.legs[leg]) : make("td", "", "");
    row.append(name, cell(start), open ? make("td", "", t("turn.working")) : cell(end - start), middle);
    rows.append(row);
  }
  const table = make("table", "figure");
  table.append(make("caption", "unseen", t("turn.caption", { turn: turn.turn })), head(t("turn.column_part"), t("turn.column_from"), t("turn.column_took"), t("turn.column_median")), rows);
  const feet = make("tfoot", "");
  if (turn.metrics) feet.append(foot("total", t("turn.total"), turn.metrics.first_sound_ms, medians?.first_sound_ms));
  if (turn.answer_ms !== undefined) feet.append(foot("answer", t("turn.answer"), turn.answer_ms, medians?.answer_ms));
  table.append(feet);
  box.append(make("summary", "", t("turn.table")), table);
  return box;
}

/** @param {number} ms */
function cell(ms) {
  return make("td", "", precise(ms));
}

/** @param {string[]} names */
function head(...names) {
  const row = make("tr", "");
  for (const name of names) {
    const th = make("th", "", name);
    th.scope = "col";
    row.append(th);
  }
  const head = make("thead", "");
  head.append(row);
  return head;
}

/** @param {string} kind @param {string} words @param {number} total @param {number} [median] */
function foot(kind, words, total, median = total) {
  const row = make("tr", `of-${kind}`);
  const name = make("th", "", words);
  name.scope = "row";
  row.append(name, cell(0), cell(total), cell(median));
  return row;
}
