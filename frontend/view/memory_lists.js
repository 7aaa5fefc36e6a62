/** The lists of the memory panel: watched shares, facts, and instructions, each with a field for a new item. */

import { t } from "../texts.js";
import { button, follow, make, named, setText } from "./dom.js";

/**
 * @typedef {import("../memory.js").Memory} Memory
 * @typedef {import("../state/memory.js").Known} Known
 */

/**
 * A list of texts to which items are added and from which they are removed one by one.
 * @typedef {object} ListKind
 * @property {string} id
 * @property {import("../texts.js").Key} title
 * @property {import("../texts.js").Key} label of the field for a new one
 * @property {number} longest
 * @property {(known: Known) => readonly string[]} items
 * @property {(text: string) => Record<string, any>} adding
 * @property {(text: string) => Record<string, any>} dropping
 */

/** @type {ListKind} */
export const TICKERS = {
  id: "tickers",
  title: "memory.tickers",
  label: "memory.tickers_new",
  longest: 10,
  items: ({ preferences }) => preferences.watched_tickers ?? [],
  adding: (symbol) => ({ op: "watch_ticker", symbol }),
  dropping: (symbol) => ({ op: "watch_ticker", symbol, watched: false }),
};

/** @type {ListKind} */
export const FACTS = {
  id: "facts",
  title: "memory.facts",
  label: "memory.facts_new",
  longest: 200,
  items: ({ facts }) => facts,
  adding: (text) => ({ op: "add_fact", text }),
  dropping: (text) => ({ op: "drop_fact", text }),
};

/** @type {ListKind} */
export const INSTRUCTIONS = {
  id: "instructions",
  title: "memory.instructions",
  label: "memory.instructions_new",
  longest: 300,
  items: ({ instructions }) => instructions,
  adding: (text) => ({ op: "add_instruction", text }),
  dropping: (text) => ({ op: "drop_instruction", text }),
};

/** @param {Memory} memory @param {ListKind} kind */
export function listEditor(memory, kind) {
  const list = named(make("ul", `memory-list of-${kind.id}`), `memory-${kind.id}`);
  const input = named(make("input", ""), `memory-add-${kind.id}`);
  input.type = "text";
  input.maxLength = kind.longest;
  input.placeholder = t(kind.label);
  input.ariaLabel = t(kind.label);
  const add = button(t("memory.add"), "quiet");
  add.type = "submit";
  const form = make("form", "memory-add");
  form.append(input, add);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text && (await memory.change([kind.adding(text)], t("memory.added")))) input.value = "";
    input.focus();
  });
  const drop = async (/** @type {string} */ text) => {
    await memory.change([kind.dropping(text)], t("memory.forgotten", { what: text }));
    input.focus();
  };
  const box = make("section", "memory-part");
  box.ariaLabel = t(kind.title);
  box.append(make("h3", "", t(kind.title)), list, form);
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
  item.children[1].ariaLabel = t("memory.forget_this", { what: text });
}
