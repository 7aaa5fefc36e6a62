/**
 * The transcript, pure: what was said, in the order it was said.
 *
 * An item takes its place when it is first mentioned. One exception: the words of a spoken turn may be recognised
 * only after the reply to it has begun. So the place where the user began to speak is remembered (`anchor`), and
 * the next unknown user item is put there; the anchor is forgotten once a reply after it has been heard.
 */

/**
 * `live` words still come · `done` all generated, not all heard yet · `final` said or fully heard · `interrupted`
 * @typedef {"live" | "done" | "final" | "interrupted"} EntryState
 * @typedef {{id: string, role: "user" | "assistant", text: string, heard: string, state: EntryState}} Entry
 * @typedef {{entries: readonly Entry[], anchor: string | null}} Transcript  anchor: the id it follows, "" for the top
 */

export const TRANSCRIPT_LIMIT = 200;

/** @type {Transcript} */
export const EMPTY_TRANSCRIPT = Object.freeze({ entries: Object.freeze([]), anchor: null });

/** The user has begun to speak: remember where. @param {Transcript} transcript @returns {Transcript} */
export function userSpeaks(transcript) {
  return { ...transcript, anchor: transcript.entries.at(-1)?.id ?? "" };
}

/**
 * @param {Transcript} transcript
 * @param {{role: Entry["role"], item_id: string, delta: string}} data
 * @returns {Transcript}
 */
export function addDelta(transcript, { role, item_id, delta }) {
  const known = find(transcript, item_id);
  if (known && known.state !== "live") return transcript;
  return put(transcript, { id: item_id, role, text: (known?.text ?? "") + delta, heard: "", state: "live" });
}

/**
 * All of a reply is generated; it may still be playing.
 * @param {Transcript} transcript
 * @param {{item_id: string, content: string}} data
 */
export function generated(transcript, { item_id, content }) {
  const known = find(transcript, item_id);
  if (known && known.state !== "live") return transcript;
  return put(transcript, { id: item_id, role: "assistant", text: content, heard: "", state: "done" });
}

/**
 * Said by the user, or heard to its end. Nothing recognised: the entry goes.
 * @param {Transcript} transcript
 * @param {{role: Entry["role"], item_id: string, content: string}} data
 */
export function settled(transcript, { role, item_id, content }) {
  if (find(transcript, item_id)?.state === "interrupted") return transcript;
  if (!content.trim()) return without(transcript, item_id);
  const next = put(transcript, { id: item_id, role, text: content, heard: content, state: "final" });
  return role === "assistant" ? releaseAnchor(next, item_id) : next;
}

/**
 * Cut off by the user: `heard` is what was really played.
 * @param {Transcript} transcript
 * @param {{item_id: string, heard: string, content: string}} data
 */
export function interrupted(transcript, { item_id, heard, content }) {
  const entry = { id: item_id, role: "assistant", text: content, heard, state: "interrupted" };
  return releaseAnchor(put(transcript, /** @type {Entry} */ (entry)), item_id);
}

/**
 * Rebuild from the server's own record after events were missed; what is still streaming stays, at the end.
 * @param {Transcript} transcript
 * @param {{role: Entry["role"], content: string, item_id: string, interrupted?: boolean}[]} messages
 * @returns {Transcript}
 */
export function rebuilt(transcript, messages) {
  const ids = new Set(messages.map((message) => message.item_id));
  const kept = messages.map((message) => find(transcript, message.item_id) ?? fromRecord(message));
  const streaming = transcript.entries.filter((entry) => !ids.has(entry.id) && entry.state !== "final");
  return { entries: [...kept, ...streaming].slice(-TRANSCRIPT_LIMIT), anchor: null };
}

/** The part of an interrupted reply that was never heard. @param {Entry} entry */
export function unheard(entry) {
  if (entry.state !== "interrupted") return "";
  return entry.text.startsWith(entry.heard) ? entry.text.slice(entry.heard.length) : "";
}

/** @param {{role: Entry["role"], content: string, item_id: string, interrupted?: boolean}} message @returns {Entry} */
function fromRecord({ role, content, item_id, interrupted: cut }) {
  return { id: item_id, role, text: content, heard: content, state: cut ? "interrupted" : "final" };
}

/** @param {Transcript} transcript @param {string} id */
function find(transcript, id) {
  return transcript.entries.find((entry) => entry.id === id);
}

/**
 * Replace the entry in its place, or give it one.
 * @param {Transcript} transcript
 * @param {Entry} entry
 * @returns {Transcript}
 */
function put(transcript, entry) {
  const at = transcript.entries.findIndex((other) => other.id === entry.id);
  if (at >= 0) return { ...transcript, entries: transcript.entries.with(at, entry) };
  const place = entry.role === "user" ? anchoredPlace(transcript) : transcript.entries.length;
  const entries = transcript.entries.toSpliced(place, 0, entry).slice(-TRANSCRIPT_LIMIT);
  return { entries, anchor: entry.role === "user" ? null : transcript.anchor };
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
