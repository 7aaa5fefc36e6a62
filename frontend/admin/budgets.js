/** What callers have used of the day's budgets: everybody together, and those who used most. */

import { make } from "../view/dom.js";
import { setRows, tableOf } from "./tables.js";

/**
 * @typedef {{used: Record<string, number>, limits: Record<string, number>}} Use
 * @typedef {Use & {resets_in_s: number, refused: Record<string, number>, top: Record<string, readonly (Use & {name: string})[]>}} Budget
 */

/** What is counted, and how an amount of it reads. @type {Record<string, [words: string, shown: (amount: number) => string]>} */
const RESOURCES = {
  model_tokens: ["Model tokens", whole],
  voice_seconds: ["Voice", (seconds) => `${whole(seconds / 60)} min`],
  tasks: ["Tasks", whole],
  kept_bytes: ["Kept", (bytes) => `${whole(bytes / 1000)} KB`],
  micro_usd: ["Money", (micro) => `$${(micro / 1e6).toFixed(2)}`],
};
/** @type {Record<string, string>} */
const SCOPES = { user: "User", address: "Address", key: "API key" };
const NEARLY = 0.8;

/** @param {HTMLElement} place @returns {(budget: Budget | {}) => void} */
export function showBudgets(place) {
  const words = Object.values(RESOURCES).map(([name]) => name);
  const total = tableOf("Everyone's budget today", "budget", ["Resource", "Used", "Ceiling", ""]);
  const top = tableOf("Who used the most today", "budget-top", ["Who", "Name", ...words, "Nearest limit"]);
  const refused = tableOf("Refused because of a budget", "budget-refused", ["Budget", "Times"]);
  const small = make("div", "small-tables");
  small.append(total.box, refused.box);
  place.append(small, top.box);
  return (budget) => {
    if (!("top" in budget)) return; // Redis does not answer: what was shown last stays
    setRows(total, Object.entries(RESOURCES).map(([name, [label, shown]]) => [label, shown(budget.used[name] ?? 0), ceiling(budget, name, shown), bar(share(budget, name))]));
    const rows = Object.entries(SCOPES).flatMap(([scope, label]) => (budget.top[scope] ?? []).map((one) => topRow(label, one)));
    setRows(top, rows);
    setRows(refused, Object.entries(budget.refused).map(([name, times]) => [name.replace(".", ": ").replaceAll("_", " "), times]));
  };
}

/** @param {string} label @param {Use & {name: string}} one */
function topRow(label, one) {
  const amounts = Object.entries(RESOURCES).map(([name, [, shown]]) => shown(one.used[name] ?? 0));
  const nearest = Math.max(0, ...Object.keys(RESOURCES).map((name) => share(one, name)));
  return [label, label === SCOPES.key ? one.name : one.name.slice(0, 8), ...amounts, bar(nearest)];
}

/** The part of a limit that is used; 0 where there is none. @param {Use} use @param {string} name */
function share({ used, limits }, name) {
  return limits[name] ? Math.min(1, (used[name] ?? 0) / limits[name]) : 0;
}

/** @param {Budget} budget @param {string} name @param {(amount: number) => string} shown */
function ceiling({ limits }, name, shown) {
  return limits[name] ? shown(limits[name]) : "none";
}

/** @param {number} part of 1 */
function bar(part) {
  const box = make("span", "share");
  const bars = make("span", part >= NEARLY ? "bars full" : "bars");
  const filled = make("span", "p50");
  bars.ariaHidden = "true";
  filled.hidden = part === 0;
  filled.style.setProperty("width", `${part * 100}%`);
  bars.append(filled);
  box.append(bars, make("span", "", `${Math.round(part * 100)} %`));
  return box;
}

/** @param {number} amount */
function whole(amount) {
  return Math.round(amount).toLocaleString("en");
}
