/** Pictures for the model: dropped anywhere on the page, pasted, or chosen by a button; with what is typed, if anything. */

import { PICTURE_UNREADABLE, PICTURE_UNSEEN } from "../failures.js";
import { pictureIn, preparePicture } from "../picture.js";
import { seesPictures } from "../store.js";
import { part } from "./dom.js";

/** @param {import("../store.js").Store} store @param {import("../conversation.js").Conversation} conversation */
export function showPictures(store, conversation) {
  const button = /** @type {HTMLButtonElement} */ (part("show-picture"));
  const chooser = /** @type {HTMLInputElement} */ (part("picture-file"));
  const composer = part("composer");
  const input = /** @type {HTMLInputElement} */ (part("composer-text"));

  /** @param {Iterable<File> | null | undefined} files */
  const take = (files) => void send([...(files ?? [])], button, input, store, conversation);
  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    take(chooser.files);
    chooser.value = "";
  });
  document.addEventListener("paste", (event) => {
    if (!pictureIn(event.clipboardData?.files)) return;
    event.preventDefault();
    take(event.clipboardData?.files);
  });
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    composer.classList.add("receiving");
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || composer.classList.remove("receiving"));
  document.addEventListener("drop", (event) => {
    composer.classList.remove("receiving");
    if (!hasFiles(event)) return;
    event.preventDefault(); // else the browser leaves the page to show the file
    take(event.dataTransfer?.files);
  });
  store.subscribe((state) => (button.hidden = !seesPictures(state)));
}

/** @param {DragEvent} event */
function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

/**
 * @param {File[]} files
 * @param {HTMLButtonElement} button
 * @param {HTMLInputElement} input
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
async function send(files, button, input, store, conversation) {
  if (!files.length || store.state.phase === "loading" || button.disabled) return;
  if (!seesPictures(store.state)) return store.dispatch("page_failed", PICTURE_UNSEEN);
  button.disabled = true;
  try {
    const file = pictureIn(files);
    const picture = file && (await preparePicture(file).catch(() => undefined));
    if (!picture) return store.dispatch("page_failed", PICTURE_UNREADABLE);
    const text = input.value.trim();
    setInput(input, "");
    if (!(await conversation.show(picture, text)) && !input.value) setInput(input, text);
  } finally {
    button.disabled = false;
  }
}

/** @param {HTMLInputElement} input @param {string} text */
function setInput(input, text) {
  input.value = text;
  input.dispatchEvent(new Event("input"));
}
