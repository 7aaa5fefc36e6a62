/** The conversation in words, in true order, as it streams; what an interruption cut off is shown as cut. */

import { unheard } from "../state/transcript.js";
import { follow, make, part, setText } from "./dom.js";

const NEAR_END_PX = 48;
const SPEAKER = { user: "You", assistant: "Assistant" };

/** @param {import("../store.js").Store} store */
export function showTranscript(store) {
  const list = part("transcript");
  const latest = part("jump-latest");
  const shown = new Map();
  const empty = list.appendChild(make("p", "empty", ""));
  list.addEventListener("scroll", () => (latest.hidden = nearEnd(list)), { passive: true });
  latest.addEventListener("click", () => list.scrollTo({ top: list.scrollHeight }));

  store.subscribe((state, before) => {
    if (state.phase !== before.phase) setText(empty, invitation(state.phase));
    if (state.transcript === before.transcript) return;
    const stick = nearEnd(list);
    empty.hidden = state.transcript.entries.length > 0;
    list.closest(".talk")?.classList.toggle("begun", empty.hidden);
    follow(list, shown, state.transcript.entries, (entry) => entry.id, createEntry, updateEntry);
    if (stick) list.scrollTop = list.scrollHeight;
    latest.hidden = stick;
  });
}

/** @param {import("../store.js").Phase} phase */
function invitation(phase) {
  return phase === "connected" || phase === "shaky" ? "Say something, or type below." : "What is said will stand here.";
}

/** @param {Element} list */
function nearEnd(list) {
  return list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_END_PX;
}

function createEntry() {
  const node = make("article", "entry");
  const words = make("p", "words");
  words.append(make("span", "said"), make("s", "cut"));
  node.append(make("h3", "speaker"), words, make("p", "remark"));
  return node;
}

/** @param {HTMLElement} node @param {import("../state/transcript.js").Entry} entry */
function updateEntry(node, entry) {
  node.className = `entry ${entry.role} ${entry.state}`;
  node.dataset.testid = `entry-${entry.role}`;
  node.dataset.state = entry.state;
  node.dataset.item = entry.id;
  const [speaker, words, remark] = node.children;
  setText(speaker, SPEAKER[entry.role]);
  const cut = unheard(entry);
  setText(words.children[0], entry.state === "interrupted" ? entry.heard : entry.text);
  setText(words.children[1], cut);
  setText(remark, remarkOn(entry));
}

/** @param {import("../state/transcript.js").Entry} entry */
function remarkOn(entry) {
  if (entry.state !== "interrupted") return "";
  return entry.heard ? "You took over here; the rest was not spoken." : "You took over before this was heard.";
}
