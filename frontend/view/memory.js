/** The memory dialog: the user reads, changes, downloads and erases what the system knows about them. */

import { memoryOf } from "../memory.js";
import { countsInWords, isBlank } from "../state/memory.js";
import { t } from "../texts.js";
import { button, make, named, setText } from "./dom.js";
import { editable } from "./editing.js";
import { eraseFooter } from "./memory_erase.js";
import { FACTS, INSTRUCTIONS, listEditor, TICKERS } from "./memory_lists.js";

/** @typedef {import("../memory.js").Memory} Memory */
/** @typedef {import("../state/memory.js").Known} Known */
/** @typedef {import("../texts.js").Key} Key */

/** The preferences that are one text each. @type {readonly {name: string, label: Key, hint: Key}[]} */
const FIELDS = [
  { name: "name", label: "memory.name", hint: "memory.name_hint" },
  { name: "default_location", label: "memory.home", hint: "memory.home_hint" },
  { name: "language", label: "memory.language", hint: "memory.language_hint" },
  { name: "time_zone", label: "memory.time_zone", hint: "memory.time_zone_hint" },
];
/** @type {readonly [string, Key][]} */
const UNITS = [["", "memory.unit_usual"], ["celsius", "memory.celsius"], ["fahrenheit", "memory.fahrenheit"]];

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const memory = memoryOf(store);
  const parts = build(/** @type {HTMLDialogElement} */ (place), memory, () => conversation.startAnew());
  store.subscribe((state, before) => {
    if (state.memory === before.memory) return;
    draw(parts, state.memory);
    if (parts.place.open && before.memory && state.memory.changes !== before.memory.changes) void memory.renew();
  });
  return {
    opened: () => {
      parts.confirm.hidden = true;
      void memory.refresh();
    },
  };
}

/** @param {HTMLDialogElement} place @param {Memory} memory @param {() => void} onErased */
function build(place, memory, onErased) {
  const close = button(t("page.close"), "quiet small");
  close.addEventListener("click", () => place.close());
  const head = make("div", "sheet-head");
  const title = make("h2", "sheet-title", t("memory.title"));
  head.append(title, close);
  const said = named(make("p", "memory-said"), "memory-said");
  said.role = "status";
  const blank = make("p", "dim memory-blank", t("memory.blank"));
  const fields = [...FIELDS.map((text) => textField(text, memory)), unitField(memory)];
  const grid = make("div", "memory-fields");
  grid.append(...fields.map(({ box }) => box));
  const tickers = listEditor(memory, TICKERS);
  const facts = listEditor(memory, FACTS);
  const instructions = listEditor(memory, INSTRUCTIONS);
  const summary = summaryField(memory);
  const counts = named(make("p", "dim memory-counts"), "memory-counts");
  const { foot, confirm } = eraseFooter(memory, onErased);
  place.append(head, said, blank, grid, tickers.box, facts.box, instructions.box, summary.box, counts, foot, confirm);
  return { said, blank, fields, lists: [tickers, facts, instructions], summary, counts, confirm, place };
}

/** @param {ReturnType<typeof build>} parts @param {import("../state/memory.js").UserMemory} memory */
function draw({ said, blank, fields, lists, summary, counts, place }, { known, busy, said: words, failed }) {
  place.ariaBusy = String(busy);
  setText(said, words);
  said.classList.toggle("failed", failed);
  blank.hidden = !known || !isBlank(known);
  if (!known) return;
  for (const field of fields) field.show(known);
  for (const list of lists) list.show(known);
  summary.show(known);
  setText(counts, t("memory.counts", { counts: countsInWords(known), retention: retention(known) }));
}

/** @param {Known} known */
function retention({ retention_days: days }) {
  return days ? t("memory.kept_days", { count: days }) : t("memory.kept");
}

/** @param {{name: string, label: Key, hint: Key}} text @param {Memory} memory */
function textField({ name, label, hint }, memory) {
  const input = make("input", "");
  input.type = "text";
  input.maxLength = 100;
  input.placeholder = t(hint);
  return preference(name, t(label), input, memory);
}

/** @param {Memory} memory */
function unitField(memory) {
  const select = make("select", "");
  for (const [value, words] of UNITS) select.add(new Option(t(words), value));
  return preference("temperature_unit", t("memory.temperature"), select, memory);
}

/**
 * A preference is saved when its field loses the focus; a refused value stays in the field to be corrected.
 * @param {string} name
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement} input
 * @param {Memory} memory
 */
function preference(name, label, input, memory) {
  named(input, `memory-${name}`);
  const show = editable(input, (value) => {
    const change = value ? { op: "set_preference", name, value } : { op: "drop_preference", name };
    return memory.change([change], t(value ? "memory.saved" : "memory.forgotten", { what: label }));
  });
  const box = make("label", "field");
  box.append(make("span", "", label), input);
  return { box, show: (/** @type {Known} */ { preferences }) => show(String(preferences[name] ?? "")) };
}

/** @param {Memory} memory */
function summaryField(memory) {
  const text = named(make("textarea", ""), "memory-summary");
  text.maxLength = 1_500;
  text.rows = 4;
  text.placeholder = t("memory.summary_hint");
  const show = editable(text, (words) => memory.change([{ op: "write_summary", text: words }], t(words ? "memory.saved" : "memory.forgotten", { what: t("memory.summary") })));
  const box = make("label", "field");
  box.append(make("span", "", t("memory.summary")), text);
  return { box, show: (/** @type {Known} */ { summary }) => show(summary) };
}
