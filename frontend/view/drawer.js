/** The developer's drawer: every event as it came, newest last, drawn only while it is open. */

import { follow, make, setText } from "./dom.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** @typedef {import("../state/log.js").Row} Row */

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store }) {
  const count = make("span", "count", "0");
  count.dataset.testid = "log-count";
  const list = make("ol", "log");
  list.dataset.testid = "log";
  list.tabIndex = 0;
  list.ariaLabel = "Event log";
  const title = make("h2", "", "Event log ");
  title.append(count);
  const box = make("div", "log-box");
  box.append(title, list);
  place.append(box);

  const shown = new Map();
  const draw = () => {
    if (place.hidden) return;
    const stick = place.scrollHeight - place.scrollTop - place.clientHeight < 32;
    follow(list, shown, store.state.log, (row) => row.key, createRow, updateRow);
    if (stick) place.scrollTop = place.scrollHeight;
  };
  store.subscribe((state, before) => {
    if (state.log === before.log) return;
    setText(count, String(state.log.length));
    draw();
  });
  return { opened: draw };
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
