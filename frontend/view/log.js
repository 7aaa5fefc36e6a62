/** Every event as it came, newest last, drawn only while the log is open. */

import { follow, make, part, setText } from "./dom.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

/** @typedef {import("../state/log.js").Row} Row */

/** @param {import("../store.js").Store} store */
export function showLog(store) {
  const list = part("log");
  const box = /** @type {HTMLDetailsElement} */ (list.closest("details"));
  const shown = new Map();
  const draw = () => {
    if (!box.open) return;
    const stick = list.scrollHeight - list.scrollTop - list.clientHeight < 32;
    follow(list, shown, store.state.log, (row) => row.key, createRow, updateRow);
    if (stick) list.scrollTop = list.scrollHeight;
  };
  box.addEventListener("toggle", draw);
  store.subscribe((state, before) => {
    if (state.log === before.log) return;
    setText(part("log-count"), String(state.log.length));
    draw();
  });
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
