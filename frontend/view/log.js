/** Every event as it came, newest last, as far as the filters let it through. */

import { GROUPS, matching } from "../state/log.js";
import { follow, make, setText } from "./dom.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const NEAR_END_PX = 32;

/** @typedef {import("../state/log.js").Row} Row */

/** @param {HTMLElement} place @param {import("../store.js").Store} store @returns {() => void} draws what there is now */
export function showLog(place, store) {
  const count = named(make("span", "count", "0"), "log-count");
  const title = make("h2", "", "Events ");
  title.append(count);
  const search = named(make("input", ""), "log-search");
  search.type = "search";
  search.placeholder = "Filter";
  search.ariaLabel = "Filter the events by words";
  const chips = make("div", "log-groups");
  chips.role = "group";
  chips.ariaLabel = "Kinds of events";
  const tools = make("div", "log-tools");
  tools.append(title, chips, search);
  const list = named(make("ol", "log"), "log");
  list.tabIndex = 0;
  list.ariaLabel = "Events";
  place.append(tools, list);

  /** @type {Set<string>} */
  const hidden = new Set();
  const shown = new Map();
  const draw = () => {
    const stick = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
    const rows = matching(store.state.log, hidden, search.value);
    follow(list, shown, rows, (row) => row.key, createRow, updateRow);
    setText(count, rows.length === store.state.log.length ? String(rows.length) : `${rows.length} of ${store.state.log.length}`);
    if (stick) list.scrollTop = list.scrollHeight;
  };
  chips.append(...Object.entries(GROUPS).map(([group, { label }]) => chip(label, group, hidden, draw)));
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
  setText(time, CLOCK.format(at));
  setText(name, count > 1 ? `${type} ×${count}` : type);
  setText(words, text);
}

/** @template {HTMLElement} Element @param {Element} element @param {string} name @returns {Element} */
function named(element, name) {
  element.dataset.testid = name;
  return element;
}
