/** Every event as it came, newest last, as far as the filters let it through. */

import { GROUPS, matching } from "../state/log.js";
import { number, t, timeOfDay, tOf } from "../texts.js";
import { follow, make, setText } from "./dom.js";

const NEAR_END_PX = 32;

/** @typedef {import("../state/log.js").Row} Row */

/** @param {HTMLElement} place @param {import("../store.js").Store} store @returns {() => void} draws what there is now */
export function showLog(place, store) {
  const count = named(make("span", "count", "0"), "log-count");
  const title = make("h2", "", t("log.title"));
  title.append(" ", count);
  const search = named(make("input", ""), "log-search");
  search.type = "search";
  search.placeholder = t("log.filter");
  search.ariaLabel = t("log.filter_label");
  const chips = make("div", "log-groups");
  chips.role = "group";
  chips.ariaLabel = t("log.kinds");
  const tools = make("div", "log-tools");
  tools.append(title, chips, search);
  const list = named(make("ol", "log"), "log");
  list.tabIndex = 0;
  list.ariaLabel = t("log.title");
  place.append(tools, list);

  /** @type {Set<string>} */
  const hidden = new Set();
  const shown = new Map();
  const draw = () => {
    const stick = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
    const rows = matching(store.state.log, hidden, search.value);
    follow(list, shown, rows, (row) => row.key, createRow, updateRow);
    const all = store.state.log.length;
    setText(count, rows.length === all ? number(all) : t("log.shown", { shown: rows.length, all }));
    if (stick) list.scrollTop = list.scrollHeight;
  };
  chips.append(...Object.keys(GROUPS).map((group) => chip(tOf("log", group), group, hidden, draw)));
  search.addEventListener("input", draw);
  return draw;
}

/** @param {string} label @param {string} group @param {Set<string>} hidden @param {() => void} draw */
function chip(label, group, hidden, draw) {
  const button = named(make("button", "quiet small", label), `log-${group}`);
  button.type = "button";
  button.ariaPressed = "true";
  button.addEventListener("click", () => {
    const off = hidden.has(group) ? !hidden.delete(group) : Boolean(hidden.add(group));
    button.ariaPressed = String(!off);
    draw();
  });
  return button;
}

function createRow() {
  const row = make("li", "row");
  row.append(make("time", ""), make("code", ""), make("span", ""));
  return row;
}

/** @param {HTMLElement} node @param {Row} row */
function updateRow(node, { at, type, text, count }) {
  const [time, name, words] = node.children;
  setText(time, timeOfDay(at));
  setText(name, count > 1 ? `${type} ×${count}` : type);
  setText(words, text);
}

/** @template {HTMLElement} Element @param {Element} element @param {string} name @returns {Element} */
function named(element, name) {
  element.dataset.testid = name;
  return element;
}
