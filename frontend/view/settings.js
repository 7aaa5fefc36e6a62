/**
 * The settings dialog. The user's profile on the server keeps what is chosen, except for the language of the page, which
 * the browser keeps. A control stands there only where the server and the chosen model can follow it.
 */

import { memoryOf } from "../memory.js";
import { changeAppearance } from "../kept_settings.js";
import { remember, remembered } from "../remembered.js";
import { isLive } from "../store.js";
import { chooseLanguage, chosenLanguage, languageName, LANGUAGES, listOf, percent, t } from "../texts.js";
import { button, make, named, setText } from "./dom.js";
import { editable } from "./editing.js";

/** @typedef {import("../texts.js").Key} Key */
/** @typedef {import("../memory.js").Memory} Memory */
/** @typedef {import("../state/memory.js").Known} Known */
/** @typedef {{value: string, label: string}} Choice */
/**
 * @typedef {object} Responder as `GET /api/config` lists it
 * @property {string} provider
 * @property {string} name
 * @property {string} model
 * @property {readonly string[]} voices empty: none can be chosen
 * @property {string} voice the usual one
 * @property {readonly [number, number] | null} [speeds] the slowest and the fastest; none: it cannot be chosen
 * @property {readonly string[]} languages by their English names; empty: many
 */

const SPEEDS = [0.6, 0.75, 0.9, 1, 1.15, 1.3, 1.5];
/** The languages offered for the conversation. A provider may know more: those can be written in the memory dialog. */
const SPOKEN = ["ar", "da", "de", "el", "en", "es", "fi", "fr", "he", "hi", "id", "it", "ja", "ko", "nl", "no", "pl", "pt", "ru", "sv", "tr", "uk", "vi", "zh"];

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const dialog = /** @type {HTMLDialogElement} */ (place);
  const memory = memoryOf(store);
  const parts = build(dialog, memory, store, conversation);
  store.subscribe((state, before) => {
    if (state.memory !== before.memory || state.config !== before.config || state.phase !== before.phase) draw(parts, state);
    if (state.interruptions !== before.interruptions) parts.interruptions.checked = state.interruptions.allowed;
    if (dialog.open && before.memory && state.memory.changes !== before.memory.changes) void memory.renew();
  });
  return { opened: () => void memory.refresh() };
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {Memory} memory
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
function build(dialog, memory, store, conversation) {
  const close = button(t("page.close"), "quiet small");
  close.addEventListener("click", () => dialog.close());
  const head = make("div", "sheet-head");
  head.append(make("h2", "sheet-title", t("settings.title")), close);
  const said = named(make("p", "settings-said"), "settings-said");
  said.role = "status";
  const language = preference("language", "settings.language", memory);
  const patience = preference("turn_patience", "settings.patience", memory);
  const responder = preference("responder", "settings.model", memory, { later: true });
  const voice = preference("voice", "settings.voice", memory, { later: true });
  const speed = preference("speech_speed", "settings.speed", memory, { later: true });
  const interruptions = checkbox("interruptions", "sound.interrupt", "sound.interrupt_hint");
  interruptions.input.addEventListener("change", async () => {
    const value = interruptions.input.checked ? "on" : "off";
    if (await conversation.allowInterruptions(value === "on")) {
      remember("interruptions", value);
      keep(memory, "interruptions", "sound.interrupt", value);
    } else {
      interruptions.input.checked = store.state.interruptions.allowed;
    }
  });
  const fields = { language, patience, responder, voice, speed };
  const calls = group("settings.calls", ...Object.values(fields).map(({ box }) => box));
  const page = group("settings.page", interruptions.box, captions(memory), theme(memory), interfaceLanguage(store));
  dialog.append(head, said, calls, page);
  return { dialog, said, fields, interruptions: interruptions.input };
}

/** @param {ReturnType<typeof build>} parts @param {import("../store.js").State} state */
function draw({ dialog, said, fields }, state) {
  const { memory, config } = state;
  dialog.ariaBusy = String(memory.busy);
  setText(said, memory.said);
  said.classList.toggle("failed", memory.failed);
  if (!config) return;
  const preferences = memory.known?.preferences ?? {};
  /** @type {readonly Responder[]} */
  const responders = config.responders ?? [];
  const model = responders.find(({ provider }) => provider === preferences.responder) ?? responders[0];
  fields.language.offer(model?.languages.length ? [] : spokenLanguages(), preferences.language);
  fields.language.note(model?.languages.length ? t("settings.language_only", { languages: listOf(model.languages.map(ownNameOf)) }) : "");
  fields.patience.offer(config.endpointing ? stylesBut(config.endpointing) : [], preferences.turn_patience);
  fields.responder.offer(responders.length > 1 ? responders.map(modelChoice) : [], preferences.responder || responders[0]?.provider);
  fields.voice.offer(model?.voices.length ? [usual(model.voice), ...model.voices.filter((name) => name !== model.voice).map(asChoice)] : [], preferences.voice);
  fields.speed.offer(model?.speeds ? speedsWithin(model.speeds) : [], preferences.speech_speed);
  const live = isLive(state);
  for (const field of [fields.responder, fields.voice, fields.speed]) field.note(live ? t("settings.next_call") : "");
}

/** @returns {Choice[]} */
function spokenLanguages() {
  const english = new Intl.DisplayNames("en", { type: "language" });
  const known = SPOKEN.map((code) => ({ value: english.of(code) ?? code, label: languageName(code) }));
  return [{ value: "", label: t("settings.language_any") }, ...known.sort((one, other) => one.label.localeCompare(other.label))];
}

/** The name that this page's language has for one that is given in English. @param {string} english */
function ownNameOf(english) {
  const names = new Intl.DisplayNames("en", { type: "language" });
  const code = SPOKEN.find((each) => names.of(each) === english);
  return code ? languageName(code) : english;
}

/** @param {string} name @returns {Choice} */
function asChoice(name) {
  return { value: name, label: name };
}

/** @param {string} name @returns {Choice} */
function usual(name) {
  return { value: "", label: t("settings.usual", { what: name }) };
}

/** @param {Responder} responder @returns {Choice} */
function modelChoice({ provider, name, model }) {
  return { value: provider, label: `${name}: ${model}` };
}

/** The three styles, of which the server's own holds where the user has not chosen. @param {string} own @returns {Choice[]} */
function stylesBut(own) {
  /** @type {readonly [string, Key][]} */
  const styles = [["patient", "settings.patient"], ["balanced", "settings.balanced"], ["eager", "settings.eager"]];
  return styles.map(([style, words]) => ({ value: style === own ? "" : style, label: t(words) }));
}

/** @param {readonly [number, number]} speeds @returns {Choice[]} */
function speedsWithin([slowest, fastest]) {
  const within = SPEEDS.filter((speed) => speed >= slowest && speed <= fastest);
  return within.map((speed) => ({ value: speed === 1 ? "" : String(speed), label: speed === 1 ? usual(percent(1)).label : percent(speed) }));
}

/**
 * A choice that the server keeps. It is hidden while there is nothing to choose, unless a note says why.
 * @param {string} name of the preference
 * @param {Key} label
 * @param {Memory} memory
 */
function preference(name, label, memory, { later = false } = {}) {
  const select = named(make("select", ""), `settings-${name}`);
  const show = editable(select, (value) => {
    const change = value ? { op: "set_preference", name, value } : { op: "drop_preference", name };
    return memory.change([change], t("memory.saved", { what: t(label) }));
  });
  const note = make("small", "dim settings-note");
  note.id = `settings-note-${name}`;
  select.setAttribute("aria-describedby", note.id);
  const title = make("label", "", t(label));
  title.htmlFor = select.id = `settings-${name}`;
  const box = make("div", "field");
  box.append(title, select, note);
  box.hidden = true;
  let shown = "";
  return {
    box,
    later,
    /** @param {readonly Choice[]} choices @param {string} [chosen] */
    offer(choices, chosen = "") {
      const known = !chosen || choices.some(({ value }) => value === chosen);
      const all = known || !choices.length ? choices : [...choices, asChoice(chosen)];
      const now = JSON.stringify(all);
      if (now !== shown) select.replaceChildren(...all.map(({ value, label: words }) => new Option(words, value)));
      shown = now;
      select.hidden = !all.length;
      box.hidden = select.hidden;
      if (all.length) show(chosen);
    },
    /** @param {string} words */
    note(words) {
      setText(note, words);
      if (words && select.hidden && !later) box.hidden = false;
    },
  };
}

/** @param {string} name @param {Key} label @param {Key} hint */
function checkbox(name, label, hint) {
  const input = named(make("input", ""), name);
  input.type = "checkbox";
  const words = make("span", "");
  words.append(make("span", "", t(label)), " ", make("small", "", t(hint)));
  const box = make("label", "check");
  box.append(input, words);
  return { box, input };
}

/** @param {Memory} memory */
function captions(memory) {
  const { box, input } = checkbox("captions", "settings.captions", "settings.captions_hint");
  const show = () => (input.checked = remembered("captions") !== "off");
  show();
  document.addEventListener("appearancechange", show);
  input.addEventListener("change", () => {
    const value = input.checked ? "on" : "off";
    changeAppearance("captions", value);
    keep(memory, "captions", "settings.captions", value);
  });
  return box;
}

/** @param {Memory} memory */
function theme(memory) {
  /** @type {readonly [string, Key][]} */
  const themes = [["system", "settings.theme_system"], ["light", "settings.theme_light"], ["dark", "settings.theme_dark"]];
  const { box, select } = pageChoice("theme", "settings.theme", themes.map(([value, words]) => ({ value, label: t(words) })), "");
  const show = () => (select.value = remembered("theme") || "system");
  show();
  document.addEventListener("appearancechange", show);
  select.addEventListener("change", () => {
    changeAppearance("theme", select.value);
    keep(memory, "theme", "settings.theme", select.value);
  });
  return box;
}

/** Have the user's profile keep a choice that this page follows already. @param {Memory} memory @param {string} name @param {Key} label @param {string} value */
function keep(memory, name, label, value) {
  void memory.change([{ op: "set_preference", name, value }], t("memory.saved", { what: t(label) }));
}

/** The page is loaded again in another language; during a call it stays as it is. @param {import("../store.js").Store} store */
function interfaceLanguage(store) {
  const choices = Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }));
  const { box, select } = pageChoice("interface", "settings.interface", [{ value: "", label: t("settings.interface_browser") }, ...choices], chosenLanguage());
  const note = make("small", "dim settings-note");
  note.role = "status";
  box.append(note);
  select.addEventListener("change", () => {
    chooseLanguage(select.value);
    if (isLive(store.state)) setText(note, t("settings.interface_later"));
    else location.reload();
  });
  return box;
}

/** @param {string} name @param {Key} label @param {readonly Choice[]} choices @param {string} chosen */
function pageChoice(name, label, choices, chosen) {
  const select = named(make("select", ""), `settings-${name}`);
  select.append(...choices.map(({ value, label: words }) => new Option(words, value)));
  select.value = chosen;
  const box = make("label", "field");
  box.append(make("span", "", t(label)), select);
  return { box, select };
}

/** @param {Key} title @param {...HTMLElement} fields */
function group(title, ...fields) {
  const box = make("fieldset", "settings-group");
  const grid = make("div", "settings-fields");
  grid.append(...fields);
  box.append(make("legend", "", t(title)), grid);
  return box;
}
