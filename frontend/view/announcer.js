/**
 * Announcements for screen readers: each turn once, when it is over, so that the reader does not speak over the
 * assistant; and how a Thinker ended. The floor changes too often to be announced.
 */

import { isEarlier } from "../state/transcript.js";
import { t } from "../texts.js";
import { part } from "./dom.js";

/** The ends of a Thinker that are announced; a good one is heard. */
const ENDS = new Set(["failed", "stale", "cancelled"]);

/** @param {import("../store.js").Store} store */
export function showAnnouncements(store) {
  const place = part("announcer");
  store.subscribe((state, before) => {
    if (!("transcript" in before)) return;
    const announced = [...turnsOver(state.transcript, before.transcript), ...thinkersOver(state.thinkers, before.thinkers)];
    if (announced.length) place.textContent = announced.join(" ");
  });
}

/**
 * @param {import("../state/transcript.js").Transcript} now
 * @param {import("../state/transcript.js").Transcript} before
 */
function turnsOver(now, before) {
  if (now === before || document.documentElement.dataset.captions === "off") return [];
  const known = new Map(before.entries.map((entry) => [entry.id, entry]));
  return now.entries.filter((entry) => isOver(entry) && !isOver(known.get(entry.id)) && !isEarlier(entry)).map(inWords);
}

/** @param {import("../state/transcript.js").Entry | undefined} entry */
function isOver(entry) {
  return entry?.state === "final" || entry?.state === "interrupted";
}

/** @param {import("../state/transcript.js").Entry} entry */
function inWords({ role, text, heard, state }) {
  if (role === "note") return text;
  if (role === "murmur") return "";
  if (role === "user") return t("announce.user", { words: text });
  if (state !== "interrupted") return t("announce.assistant", { words: text });
  return t("announce.interrupted", { words: heard || t("announce.nothing_heard") });
}

/**
 * @param {readonly import("../state/thinkers.js").Thinker[]} now
 * @param {readonly import("../state/thinkers.js").Thinker[]} before
 */
function thinkersOver(now, before) {
  if (now === before) return [];
  const known = new Map(before.map((thinker) => [thinker.id, thinker.state]));
  const ended = now.filter(({ id, state }) => ENDS.has(state) && known.get(id) !== state);
  return ended.map(({ label, state }) => t(/** @type {import("../texts.js").Key} */ (`announce.${state}`), { thinker: label }));
}
