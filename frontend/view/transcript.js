/** The conversation in words, in true order, as it streams; what an interruption cut off is shown as cut. */

import { unheard } from "../state/transcript.js";
import { t } from "../texts.js";
import { follow, make, part, setText } from "./dom.js";
import { citationLinks, sourceBadge } from "./sources.js";

const NEAR_END_PX = 48;
/** Stands for a picture in what the server keeps. */
const PICTURE = "[picture]";

/** @typedef {import("../state/transcript.js").Entry} Entry */

/** @param {import("../store.js").Store} store */
export function showTranscript(store) {
  const list = part("transcript");
  const latest = part("jump-latest");
  const welcome = part("welcome");
  const shown = new Map();
  list.addEventListener("scroll", () => (latest.hidden = nearEnd(list)), { passive: true });
  latest.addEventListener("click", () => list.scrollTo({ top: list.scrollHeight }));
  // Elements that open below (examples, a summary) must not hide the newest words.
  new ResizeObserver(() => latest.hidden && (list.scrollTop = list.scrollHeight)).observe(list);

  store.subscribe((state, before) => {
    if (state.transcript === before.transcript) return;
    const stick = nearEnd(list);
    welcome.hidden = state.transcript.entries.length > 0;
    list.closest(".talk")?.classList.toggle("begun", welcome.hidden);
    follow(list, shown, state.transcript.entries, (entry) => entry.id, createEntry, updateEntry);
    if (stick) list.scrollTop = list.scrollHeight;
    latest.hidden = stick;
  });
}

/** @param {Element} list */
function nearEnd(list) {
  return list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
}

function createEntry() {
  const node = make("article", "entry");
  const words = make("p", "words");
  words.append(make("span", "said"), make("s", "cut"));
  node.append(make("h3", "speaker"), words, make("p", "remark"), make("ul", "answers"));
  return node;
}

/** @param {HTMLElement} node @param {Entry} entry */
function updateEntry(node, entry) {
  node.className = `entry ${entry.role} ${entry.state}`;
  node.dataset.testid = `entry-${entry.role}`;
  node.dataset.state = entry.state;
  node.dataset.item = entry.id;
  const [speaker, words, remark, answers] = node.children;
  setText(speaker, entry.role === "note" ? "" : t(`speaker.${entry.role}`));
  setText(words.children[0], entry.state === "interrupted" ? entry.heard : pictured(entry));
  setText(words.children[1], unheard(entry));
  setText(remark, remarkOn(entry));
  if (answers.childElementCount !== entry.answers.length) answers.replaceChildren(...entry.answers.map(answerLine));
}

/** What was said; of a picture of the user's, that there was one. @param {Entry} entry */
function pictured({ role, text }) {
  return role === "user" ? text.replaceAll(PICTURE, `▧ ${t("talk.pictured")}`) : text;
}

/** @param {import("../state/transcript.js").Answer} answer */
function answerLine({ domain, label, source, citations }) {
  const line = make("li", "answer");
  line.dataset.domain = domain;
  line.append(make("span", "answer-domain", label), sourceBadge(source), ...citationLinks(citations));
  return line;
}

/** @param {Entry} entry */
function remarkOn(entry) {
  if (entry.role === "murmur") return t("entry.went_on");
  if (entry.state !== "interrupted") return "";
  return t(entry.heard ? "entry.cut" : "entry.unheard");
}
