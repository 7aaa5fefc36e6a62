/** What the system knows of the user, in a dialog: to read, change, take away, and have forgotten. */

import { Memory } from "../memory.js";
import { countsInWords, isBlank } from "../state/memory.js";
import { follow, make, setText } from "./dom.js";
import { edited } from "./editing.js";

/** @typedef {import("../state/memory.js").Known} Known */

/** The preferences that are one text each. */
const TEXTS = [
  { name: "name", label: "Name", hint: "What you are called" },
  { name: "default_location", label: "Home", hint: "e.g. Oslo" },
  { name: "language", label: "Language", hint: "e.g. English" },
  { name: "time_zone", label: "Time zone", hint: "e.g. Europe/Oslo" },
];
const UNITS = [["", "As usual where I am"], ["celsius", "Celsius"], ["fahrenheit", "Fahrenheit"]];

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const memory = new Memory(store, () => conversation.startAnew());
  const parts = build(/** @type {HTMLDialogElement} */ (place), memory);
  store.subscribe((state, before) => {
    if (state.memory === before.memory) return;
    draw(parts, state.memory);
    if (parts.place.open && before.memory && state.memory.news !== before.memory.news) void memory.renew();
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
  const title = make("h2", "sheet-title", "What is known of you");
  head.append(title, close);
  const said = named(make("p", "memory-said"), "memory-said");
  said.role = "status";
  const blank = make("p", "dim memory-blank", "Nothing yet. Tell it in a conversation, or write it here.");
  const fields = [...TEXTS.map((text) => textField(text, memory)), unitField(memory)];
  const grid = make("div", "memory-fields");
  grid.append(...fields.map(({ box }) => box));
  const tickers = listEditor(memory, TICKERS);
  const facts = listEditor(memory, FACTS);
  const instructions = listEditor(memory, INSTRUCTIONS);
  const summary = summaryField(memory);
  const counts = named(make("p", "dim memory-counts"), "memory-counts");
  const { foot, confirm } = footer(memory);
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
 * Saved as soon as it is left; what the server refuses stays in the field, to be mended.
 * @param {string} name
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement} input
 * @param {Memory} memory
 */
function preference(name, label, input, memory) {
  named(input, `memory-${name}`);
  const tell = edited(input, (value) => {
    const change = value ? { op: "set_preference", name, value } : { op: "drop_preference", name };
    return memory.change([change], value ? `${label} saved.` : `${label} forgotten.`);
  });
  const box = make("label", "field");
  box.append(make("span", "", label), input);
  return { box, show: (/** @type {Known} */ { preferences }) => tell(String(preferences[name] ?? "")) };
}

/**
 * A list whose items come and go one by one.
 * @typedef {object} ListKind
 * @property {string} id
 * @property {string} title
 * @property {string} label of the field for a new one
 * @property {number} longest
 * @property {(known: Known) => readonly string[]} items
 * @property {(text: string) => Record<string, any>} adding
 * @property {(text: string) => Record<string, any>} dropping
 */

/** @type {ListKind} */
const TICKERS = {
  id: "tickers",
  title: "Shares you watch",
  label: "Another share's symbol",
  longest: 10,
  items: ({ preferences }) => preferences.watched_tickers ?? [],
  adding: (symbol) => ({ op: "watch_ticker", symbol }),
  dropping: (symbol) => ({ op: "watch_ticker", symbol, watched: false }),
};

/** @type {ListKind} */
const FACTS = {
  id: "facts",
  title: "Worth knowing",
  label: "Something else worth knowing",
  longest: 200,
  items: ({ facts }) => facts,
  adding: (text) => ({ op: "add_fact", text }),
  dropping: (text) => ({ op: "drop_fact", text }),
};

/** @type {ListKind} */
const INSTRUCTIONS = {
  id: "instructions",
  title: "How to answer you",
  label: "e.g. Always answer in one sentence",
  longest: 300,
  items: ({ instructions }) => instructions,
  adding: (text) => ({ op: "add_instruction", text }),
  dropping: (text) => ({ op: "drop_instruction", text }),
};

/** @param {Memory} memory @param {ListKind} kind */
function listEditor(memory, kind) {
  const list = named(make("ul", `memory-list of-${kind.id}`), `memory-${kind.id}`);
  const input = named(make("input", ""), `memory-add-${kind.id}`);
  input.type = "text";
  input.maxLength = kind.longest;
  input.placeholder = kind.label;
  input.ariaLabel = kind.label;
  const add = button("Add", "quiet");
  add.type = "submit";
  const form = make("form", "memory-add");
  form.append(input, add);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text && (await memory.change([kind.adding(text)], "Added."))) input.value = "";
    input.focus();
  });
  const drop = async (/** @type {string} */ text) => {
    await memory.change([kind.dropping(text)], `Forgotten: ${text}`);
    input.focus();
  };
  const box = make("section", "memory-part");
  box.ariaLabel = kind.title;
  box.append(make("h3", "", kind.title), list, form);
  const shown = new Map();
  const show = (/** @type {Known} */ known) =>
    follow(list, shown, [...new Set(kind.items(known))], String, () => listItem(drop), nameItem);
  return { box, show };
}

/** @param {(text: string) => void} drop */
function listItem(drop) {
  const item = make("li", "");
  const words = make("span", "");
  const forget = button("✕", "quiet small");
  forget.addEventListener("click", () => drop(words.textContent));
  item.append(words, forget);
  return item;
}

/** @param {HTMLElement} item @param {string} text */
function nameItem(item, text) {
  setText(item.children[0], text);
  item.children[1].ariaLabel = `Forget: ${text}`;
}

/** @param {Memory} memory */
function summaryField(memory) {
  const text = named(make("textarea", ""), "memory-summary");
  text.maxLength = 1_500;
  text.rows = 4;
  text.placeholder = "Written after your calls; what you write here counts from now on.";
  const tell = edited(text, (words) => memory.change([{ op: "write_summary", text: words }], words ? "Summary saved." : "Summary forgotten."));
  const box = make("label", "field");
  box.append(make("span", "", "Your conversations so far"), text);
  return { box, show: (/** @type {Known} */ { summary }) => tell(summary) };
}

/** Taking it away, and having it forgotten, which asks once more. @param {Memory} memory */
function footer(memory) {
  const take = make("a", "button quiet", "Download all of it");
  take.href = "/api/me/export";
  take.download = "what-is-known-of-me.json";
  named(take, "memory-export");
  const erase = named(button("Erase everything…", "quiet danger"), "memory-erase");
  const foot = make("div", "memory-foot");
  foot.append(take, erase);

  const really = named(button("Erase everything now", "danger filled"), "memory-erase-now");
  const keep = named(button("Keep it", "quiet"), "memory-keep");
  const confirm = named(make("div", "memory-confirm"), "memory-confirm");
  confirm.role = "alertdialog";
  confirm.ariaLabel = "Erase everything?";
  confirm.hidden = true;
  const ways = make("div", "memory-foot");
  ways.append(really, keep);
  confirm.append(make("p", "", "This ends your call and erases all that is known of you: preferences, facts, how to answer you, summary, what you had remembered, conversations, your calendar. It cannot be undone."), ways);
  const leave = () => {
    confirm.hidden = true;
    erase.focus();
  };
  erase.addEventListener("click", () => {
    confirm.hidden = false;
    confirm.scrollIntoView({ block: "nearest" });
    keep.focus();
  });
  keep.addEventListener("click", leave);
  really.addEventListener("click", async () => {
    if (await memory.erase()) leave();
  });
  return { foot, confirm };
}

/** @param {string} words @param {string} className */
function button(words, className) {
  const made = make("button", className, words);
  made.type = "button";
  return made;
}

/** @template {HTMLElement} Element @param {Element} element @param {string} name @returns {Element} */
function named(element, name) {
  element.dataset.testid = name;
  return element;
}
