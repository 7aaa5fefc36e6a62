/** The API's description as a page: every operation with its parameters, bodies and answers, and every schema. */

import { ApiError, request } from "../api.js";
import { make, named, part, setText } from "../view/dom.js";
import { aboutOf, fieldsOf, operationsOf, refsOf, typeOf } from "./schemas.js";

/** @typedef {import("./schemas.js").Operation} Operation @typedef {import("./schemas.js").Field} Field @typedef {import("./schemas.js").Schema} Schema */

const reference = part("reference");
const find = /** @type {HTMLInputElement} */ (part("find"));

find.addEventListener("input", filter);
window.addEventListener("hashchange", openTarget);
void load();

async function load() {
  try {
    draw(await request("GET", "/openapi.json"));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    setText(part("count"), `${error.message} ${error.hint}`);
  }
}

/** @param {Schema} document */
function draw(document) {
  const operations = operationsOf(document);
  for (const tag of new Set(operations.map((each) => each.tag))) {
    const ours = operations.filter((each) => each.tag === tag);
    reference.append(sectionOf(tag, ours.map(operationBox)));
  }
  const schemas = Object.entries(document.components?.schemas ?? {});
  reference.append(sectionOf("Schemas", schemas.map(([name, schema]) => schemaBox(name, schema))));
  filter();
  openTarget();
}

/** @param {string} title @param {HTMLElement[]} boxes */
function sectionOf(title, boxes) {
  const section = make("section", "group");
  section.append(make("h2", "", title), ...boxes);
  return section;
}

/** @param {Operation} operation */
function operationBox(operation) {
  const { method, path, summary, about, parameters, body, answers } = operation;
  const box = boxOf(`${method} ${path}`, [make("span", "method", method), make("code", "", path), make("span", "dim", summary)]);
  box.id = `${method} ${path}`;
  named(box, "operation");
  if (about) box.append(make("p", "about", about));
  if (parameters.length) box.append(make("h3", "", "Parameters"), fieldTable("Parameters", parameters));
  if (body) box.append(make("h3", "", "Body"), ...schemaParts("Body", body));
  const rows = answers.map(({ status, about: said, schema }) => ({
    name: status,
    type: schema ? typeOf(schema) : "",
    about: said,
    refs: schema ? refsOf(schema) : [],
  }));
  box.append(make("h3", "", "Answers"), fieldTable("Answers", rows));
  return box;
}

/** @param {string} name @param {Schema} schema */
function schemaBox(name, schema) {
  const box = boxOf(name, [make("code", "", name)]);
  box.id = idOf(name);
  named(box, "schema");
  box.append(...schemaParts(name, schema));
  return box;
}

/** @param {string} searched @param {HTMLElement[]} title */
function boxOf(searched, title) {
  const box = make("details", "box");
  const summary = make("summary", "");
  summary.append(...title);
  box.dataset.searched = `${searched} ${title.at(-1)?.textContent}`.toLowerCase();
  box.append(summary);
  return box;
}

/** @param {string} label @param {Schema} schema @returns {HTMLElement[]} */
function schemaParts(label, schema) {
  const fields = fieldsOf(schema);
  const about = aboutOf(schema);
  const words = about ? [make("p", "about", about)] : [];
  if (fields.length) return [...words, fieldTable(label, fields)];
  const line = make("p", "");
  line.append(typeCell(typeOf(schema), refsOf(schema)));
  return [...words, line];
}

/** @param {string} label @param {Field[]} fields */
function fieldTable(label, fields) {
  const frame = make("div", "frame");
  frame.tabIndex = 0;
  frame.role = "region";
  frame.ariaLabel = label;
  const table = make("table", "");
  const head = make("tr", "");
  for (const column of ["Name", "Type", "Description"]) {
    const cell = make("th", "", column);
    cell.scope = "col";
    head.append(cell);
  }
  const top = make("thead", "");
  top.append(head);
  const body = make("tbody", "");
  for (const field of fields) {
    const row = make("tr", "");
    const name = make("th", "");
    name.scope = "row";
    name.append(make("code", "", field.name));
    const type = make("td", "");
    type.append(typeCell(field.type, field.refs));
    row.append(name, type, make("td", "", field.about));
    body.append(row);
  }
  table.append(top, body);
  frame.append(table);
  return frame;
}

/** A type in which each name of a schema is a link to it. @param {string} type @param {string[]} refs */
function typeCell(type, refs) {
  const cell = make("span", "type");
  for (const word of type.split(/\b/)) {
    if (!refs.includes(word)) {
      cell.append(word);
      continue;
    }
    const link = make("a", "", word);
    link.href = `#${idOf(word)}`;
    cell.append(link);
  }
  return cell;
}

/** @param {string} name */
function idOf(name) {
  return `schema-${name}`;
}

function filter() {
  const wanted = find.value.trim().toLowerCase();
  let shown = 0;
  for (const group of reference.querySelectorAll("section")) {
    const boxes = [...group.querySelectorAll("details")];
    for (const box of boxes) box.hidden = !box.dataset.searched?.includes(wanted);
    group.hidden = boxes.every((box) => box.hidden);
    shown += boxes.filter((box) => !box.hidden && box.dataset.testid === "operation").length;
  }
  setText(part("count"), `${shown} ${shown === 1 ? "operation" : "operations"}`);
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(target instanceof HTMLDetailsElement)) return;
  if (target.hidden) {
    find.value = "";
    filter();
  }
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary")?.focus();
}
