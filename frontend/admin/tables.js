/** Tables of figures, each in a frame that scrolls by itself on a narrow window. */

import { make } from "../view/dom.js";

/** @typedef {{box: HTMLElement, body: HTMLElement, none: HTMLElement, shown: string}} Table */

/** @param {string} title @param {string} name @param {string[]} columns @returns {Table} */
export function tableOf(title, name, columns) {
  const box = make("section", "table-box");
  const frame = make("div", "table-frame");
  frame.tabIndex = 0;
  frame.role = "region";
  frame.ariaLabel = title;
  const table = make("table", "figure");
  table.dataset.testid = name;
  const head = make("tr", "");
  for (const column of columns) {
    const cell = make(column ? "th" : "td", "", column);
    if (column) cell.setAttribute("scope", "col");
    head.append(cell);
  }
  const top = make("thead", "");
  top.append(head);
  const body = make("tbody", "");
  table.append(top, body);
  frame.append(table);
  const none = make("p", "dim", "Nothing yet.");
  box.append(make("h2", "", title), frame, none);
  return { box, body, none, shown: "" };
}

/** @param {Table} table @param {number} rows */
export function fill(table, rows) {
  table.none.hidden = rows > 0;
  /** @type {HTMLElement} */ (table.body.parentElement?.parentElement).hidden = rows === 0;
}

/** @param {Table} table @param {(string | number | HTMLElement)[][]} rows */
export function setRows(table, rows) {
  fill(table, rows.length);
  const shown = JSON.stringify(rows.map((row) => row.map((cell) => (cell instanceof HTMLElement ? cell.textContent : cell))));
  if (shown === table.shown) return;
  table.shown = shown;
  table.body.replaceChildren(...rows.map(rowOf));
}

/** @param {(string | number | HTMLElement)[]} cells */
function rowOf(cells) {
  const row = make("tr", "");
  for (const [n, content] of cells.entries()) {
    const cell = make(n ? "td" : "th", "");
    if (!n) cell.setAttribute("scope", "row");
    cell.append(content instanceof HTMLElement ? content : String(content));
    row.append(cell);
  }
  return row;
}
