/**
 * The page's words, numbers, dates and times in the user's language.
 *
 * Each language is one file in `texts/`, of which the page loads the one it needs: what the user chose in the settings,
 * else the first of the browser's languages that there is, else English. A text may have placeholders, `{name}`, and
 * plural forms, chosen by `count`. Nothing can be looked up before `loaded` has resolved, so no module asks for a text
 * while it is being evaluated.
 */

/** The languages there are, each by its own name. */
export const LANGUAGES = Object.freeze({ en: "English", de: "Deutsch", es: "Español", fr: "Français", ja: "日本語" });

/**
 * @typedef {keyof typeof LANGUAGES} Language
 * @typedef {keyof typeof import("./texts/en.js").default} Key
 * @typedef {string | Partial<Record<Intl.LDMLPluralRule, string>>} Text
 */

/** Where the browser remembers the language that was chosen in the settings. */
const CHOSEN = "interface-language";

/** @type {Record<string, Text>} */
let texts = {};
/** The locale of numbers and dates: the language with the browser's region, as in "en-GB". */
let locale = "en";
/** Resolves when there are texts. */
export const loaded = load();

async function load() {
  const wanted = [chosenLanguage(), ...navigator.languages].find((tag) => baseOf(tag) in LANGUAGES) ?? "en";
  const language = baseOf(wanted);
  locale = navigator.languages.find((tag) => baseOf(tag) === language) ?? language;
  document.documentElement.lang = language;
  texts = (await import(`./texts/${language}.js`)).default;
}

/** @param {string} tag */
function baseOf(tag) {
  return tag.split("-")[0].toLowerCase();
}

/** The language the page is in. @returns {Language} */
export function shownLanguage() {
  return /** @type {Language} */ (document.documentElement.lang);
}

/** The language the user chose; "" follows the browser. */
export function chosenLanguage() {
  try {
    return localStorage.getItem(CHOSEN) ?? "";
  } catch (error) {
    if (error instanceof DOMException) return "";
    throw error;
  }
}

/** Choose the language of the next visit. @param {string} language "" follows the browser */
export function chooseLanguage(language) {
  try {
    localStorage.setItem(CHOSEN, language);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

/**
 * The text of a key, named as in most translation libraries. Numbers are written as the user's language writes them.
 * @param {Key} key
 * @param {Record<string, string | number>} [values] of its placeholders; `count` chooses the plural form
 */
export function t(key, values = {}) {
  const text = texts[key];
  if (text === undefined) throw new Error(`there is no text ${key}, or none is loaded yet`);
  const form = typeof text === "string" ? text : (text[pluralOf(Number(values.count))] ?? text.other ?? "");
  return form.replace(/\{(\w+)\}/g, (_, name) => written(values[name] ?? ""));
}

/** The text of what the server named; a name that the page does not know shows as it is. @param {string} group @param {string} name */
export function tOf(group, name) {
  const key = `${group}.${name.replaceAll(" ", "_")}`;
  return key in texts ? t(/** @type {Key} */ (key)) : name;
}

/** Words of the server, which are in English; nothing where the page is in another language. @param {string} words */
export function saysAsServer(words) {
  return shownLanguage() === "en" ? words : "";
}

/** @param {number} count */
function pluralOf(count) {
  return new Intl.PluralRules(locale).select(count);
}

/** @param {string | number} value */
function written(value) {
  return typeof value === "number" ? number(value) : value;
}

/** A number as the user's language writes it; four digits stand together, as in 1270. @param {number} value @param {Intl.NumberFormatOptions} [options] */
export function number(value, options) {
  return new Intl.NumberFormat(locale, { useGrouping: "min2", ...options }).format(value);
}

/** A share of 1 in per cent. @param {number} value 0 to 1 @param {number} [digits] after the point */
export function percent(value, digits = 0) {
  return number(value, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How long something took: in milliseconds up to `exactMs`, in seconds above. @param {number} ms @param {number} [exactMs] */
export function duration(ms, exactMs = 1_000) {
  if (ms < exactMs) return t("time.ms", { ms: Math.round(ms) });
  return t("time.s", { s: number(ms / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });
}

/** The name of a language in the page's own. @param {string} code */
export function languageName(code) {
  return new Intl.DisplayNames(locale, { type: "language" }).of(code) ?? code;
}

/** Several things one after the other, as in "Weather, Notes". @param {readonly string[]} things */
export function listOf(things) {
  return things.join(t("list.separator"));
}

/** A day and a time of day. @param {number | Date} at ms, or a date */
export function dateTime(at) {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(at);
}

/** A time of day, to the second. @param {number} at ms */
export function timeOfDay(at) {
  return new Intl.DateTimeFormat(locale, { timeStyle: "medium", hourCycle: "h23" }).format(at);
}
