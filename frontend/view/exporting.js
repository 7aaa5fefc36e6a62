/** Taking the conversation along: to the clipboard, or as a file. */

import { asJson, asMarkdown } from "../state/export.js";
import { t } from "../texts.js";
import { part, setText } from "./dom.js";

const DONE_MS = 1_800;

/** @param {import("../store.js").Store} store */
export function showExporting(store) {
  const tools = part("transcript-tools");
  const copy = part("copy");
  copy.addEventListener("click", () => void toClipboard(copy, asMarkdown(store.state.transcript.entries)));
  part("save-markdown").addEventListener("click", () => save("md", "text/markdown", asMarkdown(store.state.transcript.entries)));
  part("save-json").addEventListener("click", () => save("json", "application/json", asJson(store.state.transcript.entries, store.state.session)));
  store.subscribe((state, before) => {
    if (state.transcript !== before.transcript) tools.hidden = !state.transcript.entries.length;
  });
}

/** Says on the button itself whether it worked. @param {HTMLElement} button @param {string} text */
async function toClipboard(button, text) {
  const words = /** @type {Element} */ (button.querySelector(".label"));
  const worked = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  setText(words, t(worked ? "talk.copied" : "talk.not_copied"));
  setTimeout(() => setText(words, t("talk.copy")), DONE_MS);
}

/** @param {string} ending @param {string} type @param {string} text */
function save(ending, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `conversation-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, "-")}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), DONE_MS);
}
