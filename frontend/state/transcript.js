/**
 * The transcript, pure: what was said, in the order it was said.
 *
 * An item takes its place when it is first mentioned. One exception: the words of a spoken turn may be recognised
 * only after the reply to it has begun. So the place where the user began to speak is remembered (`anchor`), and
 * the next unknown user item is inserted there; the anchor is cleared once a reply after it has been heard.
 *
 * A Thinker's answer waits in `answers` for the reply that speaks it, and stands with that reply from then on.
 */

import { tOf } from "../texts.js";

/**
 * `live` words still come · `done` all generated, not all heard yet · `final` said or fully heard · `interrupted`
 * @typedef {"live" | "done" | "final" | "interrupted"} EntryState
 * @typedef {{id: string, domain: string, label: string, source: string, citations: readonly import("./citations.js").Citation[]}} Answer
 * @typedef {object} Entry
 * @property {string} id
 * @property {"user" | "assistant" | "note" | "murmur"} role note: a remark of the page's own; murmur: what the user
 *   uttered while the assistant went on
 * @property {string} text
 * @property {string} heard
 * @property {EntryState} state
 * @property {number} at page clock, ms: when it was first mentioned
 * @property {readonly Answer[]} answers the answers it speaks
 *
 * @typedef {object} Transcript
 * @property {readonly Entry[]} entries
 * @property {string | null} anchor the id it follows, "" for the top
 * @property {readonly Answer[]} answers not spoken yet
 */

export const TRANSCRIPT_LIMIT = 200;
/** The prefix of the ids of entries from before the page was loaded. */
const EARLIER = "earlier/";
const ANSWERS_LIMIT = 8;

/** @type {Transcript} */
export const EMPTY_TRANSCRIPT = Object.freeze({ entries: Object.freeze([]), anchor: null, answers: Object.freeze([]) });

/** The user has begun to speak: remember where. @param {Transcript} transcript @returns {Transcript} */
export function userSpeaks(transcript) {
  return { ...transcript, anchor: transcript.entries.at(-1)?.id ?? "" };
}

/**
 * @param {Transcript} transcript
 * @param {{role: Entry["role"], item_id: string, delta: string}} data
 * @param {number} at
 * @returns {Transcript}
 */
export function addDelta(transcript, { role, item_id, delta }, at) {
  const known = find(transcript, item_id);
  if (known && known.state !== "live") return transcript;
  return upsert(transcript, { id: item_id, role, text: (known?.text ?? "") + delta, heard: "", state: "live" }, at);
}

/**
 * All of a reply is generated; it may still be playing.
 * @param {Transcript} transcript
 * @param {{item_id: string, content: string}} data
 * @param {number} at
 */
export function generated(transcript, { item_id, content }, at) {
  const known = find(transcript, item_id);
  if (known && known.state !== "live") return transcript;
  return upsert(transcript, { id: item_id, role: "assistant", text: content, heard: "", state: "done" }, at);
}

/**
 * Said by the user, or heard to its end. Nothing recognised: the entry goes. A reply that was cut and brought back has
 * gone on behind what was heard of it.
 * @param {Transcript} transcript
 * @param {{role: Entry["role"], item_id: string, content: string}} data
 * @param {number} at
 */
export function settled(transcript, { role, item_id, content }, at) {
  const known = find(transcript, item_id);
  if (!content.trim()) return known?.state === "interrupted" ? transcript : without(transcript, item_id);
  const whole = known?.state === "interrupted" ? joined(known.heard, content) : content;
  const next = upsert(transcript, { id: item_id, role, text: whole, heard: whole, state: "final" }, at);
  return role === "assistant" ? releaseAnchor(next, item_id) : next;
}

/**
 * Cut off by the user: `heard` is what was really played, of a reply that was brought back since then.
 * @param {Transcript} transcript
 * @param {{item_id: string, heard: string, content: string}} data
 * @param {number} at
 */
export function interrupted(transcript, { item_id, heard, content }, at) {
  const known = find(transcript, item_id);
  const before = known?.state === "interrupted" ? known.heard : "";
  const entry = { id: item_id, role: /** @type {const} */ ("assistant"), text: joined(before, content), heard: joined(before, heard) };
  return releaseAnchor(upsert(transcript, { ...entry, state: "interrupted" }, at), item_id);
}

/** The connection is lost or over: nothing more is being said. @param {Transcript} transcript @returns {Transcript} */
export function silenced(transcript) {
  if (!transcript.entries.some(isUnderWay)) return transcript;
  const entries = transcript.entries.map((entry) => (isUnderWay(entry) ? { ...entry, heard: entry.text, state: /** @type {const} */ ("final") } : entry));
  return { ...transcript, entries: entries.filter(({ text }) => text.trim()) };
}

/** @param {Entry} entry */
function isUnderWay({ state }) {
  return state === "live" || state === "done";
}

/**
 * A Thinker has answered: the next reply speaks it. A stale answer is spoken later, as a notice.
 * @param {Transcript} transcript
 * @param {Record<string, any>} data a `thinker` event
 * @returns {Transcript}
 */
export function answered(transcript, { call_id, event, domain, label, source, citations }) {
  const others = transcript.answers.filter((answer) => answer.id !== call_id);
  if (event === "complete") {
    const sources = citations ?? [];
    const answer = { id: call_id, domain, label: label || domain, source: source ?? "", citations: sources };
    return { ...transcript, answers: [...others, answer].slice(-ANSWERS_LIMIT) };
  }
  return others.length === transcript.answers.length ? transcript : { ...transcript, answers: others };
}

/** A remark of the page's own. @param {Transcript} transcript @param {string} text @param {number} at @returns {Transcript} */
export function noted(transcript, text, at) {
  const id = `note-${at}-${transcript.entries.length}`;
  return upsert(transcript, { id, role: "note", text, heard: text, state: "final" }, at);
}

/** The murmurs that are shown by their kind where no words are known. */
const MURMURS = new Set(["agreement", "hesitation", "noise", "aside"]);

/**
 * The user uttered something that takes no turn, and the assistant went on.
 * @param {Transcript} transcript
 * @param {{kind: string, words: string}} data
 * @param {number} at
 * @returns {Transcript}
 */
export function murmured(transcript, { kind, words }, at) {
  const id = `murmur-${at}-${transcript.entries.length}`;
  const text = words ? words[0].toUpperCase() + words.slice(1) : tOf("murmur", MURMURS.has(kind) ? kind : "other");
  return upsert(transcript, { id, role: "murmur", text, heard: text, state: "final" }, at);
}

/**
 * Rebuild from the server's own record after events were missed; what is still streaming stays, at the end, and
 * what was said over an earlier connection (its ids do not begin with `prefix`) stays before it.
 * @param {Transcript} transcript
 * @param {{role: "user" | "assistant", content: string, item_id: string, interrupted?: boolean}[]} messages
 * @param {string} [prefix]
 * @returns {Transcript}
 */
export function rebuilt(transcript, messages, prefix = "") {
  const ids = new Set(messages.map((message) => message.item_id));
  const earlier = transcript.entries.filter((entry) => isAside(entry) || !entry.id.startsWith(prefix));
  const kept = messages.map((message) => find(transcript, message.item_id) ?? fromRecord(message));
  const streaming = transcript.entries.filter(
    (entry) => !ids.has(entry.id) && entry.state !== "final" && !earlier.includes(entry),
  );
  return { ...transcript, entries: [...earlier, ...kept, ...streaming].slice(-TRANSCRIPT_LIMIT), anchor: null };
}

/**
 * Build the transcript of a conversation from before the page was loaded.
 * @param {{role: string, content: string, at: number}[]} messages as `GET /api/conversations/{id}` returns them
 * @returns {Transcript}
 */
export function recalled(messages) {
  const said = messages.filter(({ role, content }) => (role === "user" || role === "assistant") && content.trim());
  const entries = said.map(({ role, content, at }, index) => {
    return fromRecord({ role: /** @type {"user" | "assistant"} */ (role), content, item_id: `${EARLIER}${index}`, at });
  });
  return { ...EMPTY_TRANSCRIPT, entries: entries.slice(-TRANSCRIPT_LIMIT) };
}

/** True if the entry is from before the page was loaded. @param {Entry} entry */
export function isEarlier({ id }) {
  return id.startsWith(EARLIER);
}

/** True if the entry is no message of the conversation. @param {Entry} entry */
export function isAside({ role }) {
  return role === "note" || role === "murmur";
}

/** The part of an interrupted reply that was never heard. @param {Entry} entry */
export function unheard(entry) {
  if (entry.state !== "interrupted") return "";
  return entry.text.startsWith(entry.heard) ? entry.text.slice(entry.heard.length) : "";
}

/** Two parts of one reply, either of which may be empty. @param {string} before @param {string} after */
function joined(before, after) {
  return before && after ? `${before} ${after}` : before || after;
}

/** @param {{role: "user" | "assistant", content: string, item_id: string, interrupted?: boolean, at?: number}} message @returns {Entry} */
function fromRecord({ role, content, item_id, interrupted: cut, at = 0 }) {
  const state = cut ? "interrupted" : "final";
  return { id: item_id, role, text: content, heard: content, state, at: at * 1000, answers: [] };
}

/** @param {Transcript} transcript @param {string} id */
function find(transcript, id) {
  return transcript.entries.find((entry) => entry.id === id);
}

/**
 * Replace the entry in its place, or give it one.
 * @param {Transcript} transcript
 * @param {Omit<Entry, "at" | "answers">} entry
 * @param {number} at
 * @returns {Transcript}
 */
function upsert(transcript, entry, at) {
  const index = transcript.entries.findIndex((other) => other.id === entry.id);
  if (index >= 0) {
    const old = transcript.entries[index];
    return { ...transcript, entries: transcript.entries.with(index, { ...entry, at: old.at, answers: old.answers }) };
  }
  const answers = entry.role === "assistant" ? transcript.answers : [];
  const place = entry.role === "user" ? anchoredPlace(transcript) : transcript.entries.length;
  const entries = transcript.entries.toSpliced(place, 0, { ...entry, at, answers }).slice(-TRANSCRIPT_LIMIT);
  return {
    entries,
    anchor: entry.role === "user" ? null : transcript.anchor,
    answers: answers.length ? [] : transcript.answers,
  };
}

/** @param {Transcript} transcript */
function anchoredPlace({ entries, anchor }) {
  if (anchor === null) return entries.length;
  if (anchor === "") return 0;
  const at = entries.findIndex((entry) => entry.id === anchor);
  return at < 0 ? entries.length : at + 1;
}

/**
 * A reply behind the anchor is over: words that still come are not the ones it answered.
 * @param {Transcript} transcript
 * @param {string} id
 * @returns {Transcript}
 */
function releaseAnchor(transcript, id) {
  const at = transcript.entries.findIndex((entry) => entry.id === id);
  return at >= anchoredPlace(transcript) ? { ...transcript, anchor: null } : transcript;
}

/** @param {Transcript} transcript @param {string} id @returns {Transcript} */
function without(transcript, id) {
  return { ...transcript, entries: transcript.entries.filter((entry) => entry.id !== id) };
}
