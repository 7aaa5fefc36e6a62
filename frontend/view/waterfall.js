/** Where the time of the turns went: the last or the slowest ones, their medians, and one of them in full. */

import { measured, medians, slowest } from "../state/turns.js";
import { t } from "../texts.js";
import { follow, make, setText } from "./dom.js";
import { legsBar, picture, precise } from "./turn.js";

/** Turns listed at a time. */
const LISTED = 6;

/**
 * @typedef {import("../state/turns.js").Turn} Turn
 * @typedef {"latest" | "slowest"} Order
 * @typedef {{turn: Turn, scale: number, chosen: boolean}} Row
 */

/** @param {HTMLElement} place @param {import("../store.js").Store} store */
export function showWaterfall(place, store) {
  const parts = build(place);
  const shown = new Map();
  /** @type {Order} */
  let order = "latest";
  /** The turn the user picked; null follows the newest. @type {number | null} */
  let picked = null;
  /** @type {Turn | undefined} */
  let drawn;
  let drawnMedians = "";

  const draw = () => {
    const { turns } = store.state;
    parts.box.hidden = !turns.list.length;
    if (!turns.list.length) return void (picked = null);
    const chosen = turns.list.find(({ turn }) => turn === picked) ?? turns.list.at(-1);
    const listed = order === "latest" ? turns.list.slice(-LISTED).reverse() : slowest(turns, LISTED);
    const scale = Math.max(1, ...listed.map(({ metrics }) => metrics?.first_sound_ms ?? 0));
    const middle = medians(turns);
    summarise(parts, turns, middle);
    const rows = listed.map((turn) => ({ turn, scale, chosen: turn === chosen }));
    follow(parts.list, shown, rows, ({ turn }) => turn.turn, () => createRow(pick), updateRow);
    const middleDrawn = JSON.stringify(middle);
    if (chosen && (chosen !== drawn || middleDrawn !== drawnMedians)) drawDetail(parts.detail, chosen, middle);
    drawn = chosen;
    drawnMedians = middleDrawn;
  };
  /** @param {number} turn */
  const pick = (turn) => {
    picked = picked === turn ? null : turn;
    draw();
  };
  for (const button of [parts.latest, parts.slowest]) {
    button.addEventListener("click", () => {
      order = button === parts.latest ? "latest" : "slowest";
      parts.latest.ariaPressed = String(order === "latest");
      parts.slowest.ariaPressed = String(order === "slowest");
      draw();
    });
  }
  store.subscribe((state, before) => state.turns === before.turns || draw());
}

/** @param {HTMLElement} place */
function build(place) {
  const total = named(make("span", "figure", "–"), "metrics-total");
  const last = make("p", "turn-total");
  last.append(total, " ", make("span", "dim", t("waterfall.first_sound")));
  const middle = named(make("p", "turn-medians dim figure"), "turn-medians");
  const latest = toggle(t("waterfall.latest"), true);
  const worst = named(toggle(t("waterfall.slowest"), false), "turns-slowest");
  const orders = make("div", "orders");
  orders.role = "group";
  orders.ariaLabel = t("waterfall.which");
  orders.append(latest, worst);
  const head = make("div", "turn-head");
  head.append(make("h2", "", t("waterfall.title")), orders);
  const list = named(make("ul", "turns"), "turns");
  const detail = named(make("section", "turn-detail"), "turn");
  const box = named(make("div", "turn"), "metrics");
  box.hidden = true;
  box.append(head, last, middle, list, detail);
  place.append(box);
  return { box, total, middle, latest, slowest: worst, list, detail };
}

/**
 * @param {ReturnType<typeof build>} parts
 * @param {import("../state/turns.js").Turns} turns
 * @param {import("../state/turns.js").Medians | null} middle
 */
function summarise(parts, turns, middle) {
  const all = measured(turns);
  setText(parts.total, all.length ? precise(all[all.length - 1].metrics?.first_sound_ms ?? 0) : "–");
  const words = middle && all.length > 1 ? t("waterfall.medians", { count: all.length, median: precise(middle.first_sound_ms), p95: precise(middle.p95_ms) }) : "";
  setText(parts.middle, words);
}

/** @param {(turn: number) => void} pick */
function createRow(pick) {
  const button = make("button", "turn-row");
  button.type = "button";
  button.append(make("span", "turn-name"), make("span", "turn-bar"), make("span", "turn-ms figure"));
  button.addEventListener("click", () => pick(Number(button.dataset.turn)));
  const item = make("li", "");
  item.append(button);
  return item;
}

/** @param {HTMLElement} item @param {Row} row */
function updateRow(item, { turn, scale, chosen }) {
  const button = /** @type {HTMLButtonElement} */ (item.firstElementChild);
  const [name, bar, ms] = button.children;
  button.dataset.turn = String(turn.turn);
  button.ariaPressed = String(chosen);
  setText(name, t("turn.name", { turn: turn.turn }));
  bar.replaceChildren(turn.metrics ? legsBar(turn.metrics, scale) : "");
  setText(ms, turn.metrics ? precise(turn.metrics.first_sound_ms) : "…");
}

/**
 * The table a reader has opened stays open.
 * @param {HTMLElement} place
 * @param {Turn} turn
 * @param {import("../state/turns.js").Medians | null} middle
 */
function drawDetail(place, turn, middle) {
  const open = Boolean(place.querySelector("details")?.open);
  place.ariaLabel = t("turn.name", { turn: turn.turn });
  place.replaceChildren(make("h3", "", t("turn.name", { turn: turn.turn })), ...picture(turn, middle));
  const table = place.querySelector("details");
  if (table) table.open = open;
}

/** @param {string} words @param {boolean} pressed */
function toggle(words, pressed) {
  const button = make("button", "quiet small", words);
  button.type = "button";
  button.ariaPressed = String(pressed);
  return button;
}

/** @template {HTMLElement} Element @param {Element} element @param {string} name @returns {Element} */
function named(element, name) {
  element.dataset.testid = name;
  return element;
}
