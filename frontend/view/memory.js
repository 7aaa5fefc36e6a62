/** The memory dialog: the user reads, changes, downloads and erases what the system knows about them. */

import { Memory } from "../memory.js";
import { countsInWords, isBlank } from "../state/memory.js";
import { button, make, named, setText } from "./dom.js";
import { editable } from "./editing.js";
import { eraseFooter } from "./memory_erase.js";
import { FACTS, INSTRUCTIONS, listEditor, TICKERS } from "./memory_lists.js";

/** @typedef {import("../state/memory.js").Known} Known */

/** The preferences that are one text each. */
const TEXTS = [
  { name: "name", label: "Name", hint: "How to address you" },
  { name: "default_location", label: "Home", hint: "e.g. Oslo" },
  { name: "language", label: "Language", hint: "e.g. English" },
  { name: "time_zone", label: "Time zone", hint: "e.g. Europe/Oslo" },
];
const UNITS = [["", "As usual in my country"], ["celsius", "Celsius"], ["fahrenheit", "Fahrenheit"]];

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const memory = new Memory(store, () => conversation.startAnew());
  const parts = build(/** @type {HTMLDialogElement} */ (place), memory);
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

/** @param {HTMLDialogElement} place @param {Memory} memory */
function build(place, memory) {
  const close = button("Close", "quiet small");
  close.addEventListener("click", () => place.close());
  const head = make("div", "sheet-head");
  const title = make("h2", "sheet-title", "What the assistant knows about you");
  head.append(title, close);
  const said = named(make("p", "memory-said"), "memory-said");
  said.role = "status";
  const blank = make("p", "dim memory-blank", "Nothing yet. Mention it in a conversation, or write it here.");
  const fields = [...TEXTS.map((text) => textField(text, memory)), unitField(memory)];
  const grid = make("div", "memory-fields");
  grid.append(...fields.map(({ box }) => box));
  const tickers = listEditor(memory, TICKERS);
  const facts = listEditor(memory, FACTS);
  const instructions = listEditor(memory, INSTRUCTIONS);
  const summary = summaryField(memory);
  const counts = named(make("p", "dim memory-counts"), "memory-counts");
  const { foot, confirm } = eraseFooter(memory);
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
  setText(counts, `${countsInWords(known)}. ${retention(known)}`);
}

/** @param {Known} known */
function retention({ retention_days: days }) {
  return days ? `Kept for ${days} days after its last change.` : "Kept until you erase it.";
}

/** @param {{name: string, label: string, hint: string}} text @param {Memory} memory */
function textField({ name, label, hint }, memory) {
  const input = make("input", "");
  input.type = "text";
  input.maxLength = 100;
  input.placeholder = hint;
  return preference(name, label, input, memory);
}

/** @param {Memory} memory */
function unitField(memory) {
  const select = make("select", "");
  for (const [value, words] of UNITS) select.add(new Option(words, value));
  return preference("temperature_unit", "Temperatures in", select, memory);
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
    return memory.change([change], value ? `${label} saved.` : `${label} forgotten.`);
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
  text.placeholder = "Written after your calls; what you write here counts from now on.";
  const show = editable(text, (words) => memory.change([{ op: "write_summary", text: words }], words ? "Summary saved." : "Summary forgotten."));
  const box = make("label", "field");
  box.append(make("span", "", "Your conversations so far"), text);
  return { box, show: (/** @type {Known} */ { summary }) => show(summary) };
}
