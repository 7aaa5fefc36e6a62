/** The developer's drawer: the service that answers, the connection, the server's speech scores, and every event. */

import { CallStatistics } from "../call_statistics.js";
import { number, percent, t } from "../texts.js";
import { make, setText } from "./dom.js";
import { showSpeechScores } from "./speech_scores.js";
import { showLog } from "./log.js";

/** @typedef {import("../state/stats.js").Network} Network */

/** The label and the unit of each figure of the connection. @type {readonly [keyof Network, import("../texts.js").Key, (value: number) => string][]} */
const FIGURES = [
  ["roundTripMs", "drawer.round_trip", tenths],
  ["jitterMs", "drawer.jitter", tenths],
  ["lostShare", "drawer.lost_down", share],
  ["lostUpShare", "drawer.lost_up", share],
  ["concealedShare", "drawer.concealed", share],
  ["bufferMs", "drawer.buffer", (ms) => t("time.ms", { ms: Math.round(ms) })],
];

/** @type {import("./panels.js").ShowPanel} */
export function show(place, { store, conversation }) {
  const statistics = new CallStatistics(store, conversation);
  const left = make("div", "drawer-side");
  const right = make("div", "drawer-log");
  place.append(left, right);
  const session = sessionFacts(sectionOf(left, "session"));
  const connection = connectionFacts(sectionOf(left, "connection"));
  const speech = showSpeechScores(sectionOf(left, "speech"));
  const log = showLog(right, store);
  store.subscribe((state, before) => {
    if (state.session !== before.session) session(state.session);
    if (state.stats.network !== before.stats?.network) connection(state.stats.network.at(-1) ?? null);
    if (!place.hidden && state.stats.speech !== before.stats?.speech) speech(state.stats.speech);
    if (!place.hidden && state.log !== before.log) log();
  });
  return {
    opened: () => {
      statistics.begin();
      log();
      speech(store.state.stats.speech);
    },
    closed: () => statistics.end(),
  };
}

/** @param {HTMLElement} place */
function sessionFacts(place) {
  const list = make("dl", "pairs");
  list.dataset.testid = "drawer-session";
  const copy = make("button", "quiet small", t("drawer.copy_id"));
  copy.type = "button";
  copy.disabled = true;
  copy.dataset.testid = "copy-session";
  place.append(titled(t("drawer.session"), copy), list);
  /** @type {string} */
  let id = "";
  copy.addEventListener("click", async () => {
    setText(copy, (await copied(id)) ? t("drawer.copied") : t("drawer.select_it"));
    setTimeout(() => setText(copy, t("drawer.copy_id")), 2_000);
  });
  return (/** @type {any} */ session) => {
    id = session?.session_id ?? "";
    copy.disabled = !id;
    list.replaceChildren(...factsOf(session).flatMap(([name, value]) => pair(t(name), value)));
  };
}

/** @param {any} session @returns {[import("../texts.js").Key, string][]} */
function factsOf(session) {
  if (!session) return [["drawer.id", t("drawer.no_call")]];
  return [
    ["drawer.responder", session.responder],
    ["drawer.model", session.model],
    ["drawer.hearing", session.hearing],
    ["drawer.transport", session.transport],
    ["drawer.id", session.session_id],
  ];
}

/** Browsers give the clipboard to secure pages only. @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** @param {HTMLElement} place */
function connectionFacts(place) {
  const list = make("dl", "pairs figure");
  list.dataset.testid = "drawer-network";
  /** @type {Map<keyof Network, HTMLElement>} */
  const values = new Map();
  for (const [name, words] of FIGURES) {
    const [term, value] = pair(t(words), "–");
    values.set(name, value);
    list.append(term, value);
  }
  place.append(titled(t("drawer.connection")), list);
  return (/** @type {Network | null} */ network) => {
    for (const [name, , words] of FIGURES) {
      const value = network?.[name] ?? null;
      setText(/** @type {HTMLElement} */ (values.get(name)), value === null ? "–" : words(value));
    }
  };
}

/** @param {HTMLElement} place @param {string} name */
function sectionOf(place, name) {
  return place.appendChild(make("section", `drawer-part of-${name}`));
}

/** @param {string} words @param {...HTMLElement} more */
function titled(words, ...more) {
  const head = make("div", "drawer-head");
  head.append(make("h2", "", words), ...more);
  return head;
}

/** @param {string} name @param {string} value */
function pair(name, value) {
  return [make("dt", "", name), make("dd", "", value)];
}

/** @param {number} ms */
function tenths(ms) {
  return t("time.ms", { ms: number(ms, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) });
}

/** @param {number} value 0 to 1 */
function share(value) {
  return percent(value, 1);
}
