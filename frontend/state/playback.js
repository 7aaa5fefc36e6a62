/** What sounds at a moment of a recording, pure. Times are milliseconds since the recording began. */

/**
 * A recording as the list shows it.
 * @typedef {object} Recorded
 * @property {string} id
 * @property {number} at when it began, Unix time
 * @property {string} state "recording", or why it ended
 * @property {number} duration_ms
 * @property {number | null} expires_at Unix time; null: never
 *
 * @typedef {[string, number, number]} TimedWord the word, from, to
 * @typedef {object} Utterance
 * @property {"user" | "assistant"} role
 * @property {string} text
 * @property {number} from_ms
 * @property {number} to_ms
 * @property {boolean} interrupted
 * @property {boolean} typed
 * @property {readonly TimedWord[]} words
 *
 * @typedef {Recorded & {utterances: readonly Utterance[], gaps: readonly [number, number][]}} Transcribed
 */

/** The numbers of the utterances that sound: of one side, or of both. @param {readonly Utterance[]} utterances @param {number} ms */
export function soundingAt(utterances, ms) {
  return utterances.flatMap(({ from_ms, to_ms, typed }, number) => (!typed && from_ms <= ms && ms < to_ms ? [number] : []));
}

/** The number of the word that sounds, or -1 in a pause. @param {readonly TimedWord[]} words @param {number} ms */
export function wordAt(words, ms) {
  return words.findIndex(([, from, to]) => from <= ms && ms < to);
}

/**
 * The text in pieces: each timed word, with its number, and what stands between them.
 * @param {Utterance} utterance
 * @returns {{text: string, word: number | null}[]}
 */
export function piecesOf({ text, words }) {
  /** @type {{text: string, word: number | null}[]} */
  const pieces = [];
  let done = 0;
  for (const [number, [word]] of words.entries()) {
    const at = text.indexOf(word, done);
    if (at < 0) break;
    if (at > done) pieces.push({ text: text.slice(done, at), word: null });
    pieces.push({ text: word, word: number });
    done = at + word.length;
  }
  if (done < text.length) pieces.push({ text: text.slice(done), word: null });
  return pieces;
}
