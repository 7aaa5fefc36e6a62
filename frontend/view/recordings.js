/** The dialog of recordings: the user lists them, hears one and reads along, downloads it, or deletes it. */

import { ApiError, deleteRecording, getRecording, getRecordings } from "../api.js";
import { dateTime, t } from "../texts.js";
import { clock } from "./call.js";
import { button, make, named, setText } from "./dom.js";
import { playerOf } from "./player.js";

/** @typedef {import("../state/playback.js").Recorded} Recorded @typedef {import("../state/playback.js").Transcribed} Transcribed */

/** A recording that has just ended is complete after a moment. */
const AGAIN_MS = 1_000;
/** What a recording can be downloaded as, by the rest of its address. @type {[import("../texts.js").Key, string][]} */
const FILES = [
  ["player.opus", "/audio?download=true"],
  ["player.wav", "/audio?format=wav"],
  ["player.json", "?download=true"],
];

/** The dialog, once it was opened. @type {RecordingsDialog | null} */
let dialog = null;

/** Open the list, or one recording. @param {string} [id] */
export function openRecordings(id = "") {
  dialog ??= new RecordingsDialog();
  dialog.open(id);
}

class RecordingsDialog {
  /** @type {(() => void) | null} ends the player */
  #leave = null;
  /** The number of the newest request: the answer to an earlier one is not shown. */
  #asked = 0;

  constructor() {
    this.place = named(make("dialog", "sheet recordings"), "recordings");
    this.place.ariaLabel = t("recordings.title");
    this.title = make("h2", "sheet-title");
    this.all = named(button(t("recordings.all"), "quiet small"), "recordings-all");
    this.all.addEventListener("click", () => void this.#showAll().then(() => this.title.focus()));
    this.title.tabIndex = -1;
    const close = named(button(t("page.close"), "quiet small"), "recordings-close");
    close.addEventListener("click", () => this.place.close());
    const head = make("div", "sheet-head");
    const ways = make("div", "tools");
    ways.append(this.all, close);
    head.append(this.title, ways);
    this.said = named(make("p", "dim past-said"), "recordings-said");
    this.said.role = "status";
    this.content = make("div", "recordings-content");
    this.place.append(head, this.said, this.content);
    this.place.addEventListener("close", () => this.#clear());
    document.body.append(this.place);
  }

  /** @param {string} id */
  open(id) {
    if (!this.place.open) this.place.showModal();
    void (id ? this.#showOne(id) : this.#showAll());
  }

  async #showAll() {
    const asked = this.#clear();
    setText(this.title, t("recordings.title"));
    this.all.hidden = true;
    const answer = await this.#answer(getRecordings());
    if (!answer || asked !== this.#asked) return;
    const list = named(make("ul", "past-list"), "recordings-list");
    list.append(...answer.recordings.map((each) => this.#entry(each)));
    this.content.append(list);
    if (!answer.recordings.length) setText(this.said, t("recordings.none"));
  }

  /** @param {Recorded} recorded */
  #entry(recorded) {
    const open = button("", "past-open");
    open.append(make("span", "past-title", dateTime(recorded.at * 1000)), make("span", "dim", aboutOf(recorded)));
    open.addEventListener("click", () => void this.#showOne(recorded.id));
    const item = make("li", "");
    item.append(open);
    return item;
  }

  /** @param {string} id */
  async #showOne(id) {
    const asked = this.#clear();
    this.all.hidden = false;
    const recording = await this.#answer(getRecording(id));
    if (!recording || asked !== this.#asked) return;
    setText(this.title, dateTime(recording.at * 1000));
    this.title.focus();
    const about = named(make("p", "dim", aboutOf(recording)), "recording-about");
    if (recording.state === "recording") {
      this.content.append(about);
      setTimeout(() => asked === this.#asked && this.#showOne(id), AGAIN_MS);
      return;
    }
    if (recording.gaps.length) about.append(" · ", t("player.gaps", { count: recording.gaps.length }));
    const { box, close } = playerOf(recording, (words) => setText(this.said, words));
    this.#leave = close;
    this.content.append(about, box, filesOf(id), ...this.#deletion(id));
  }

  /** @param {string} id @returns {HTMLElement[]} */
  #deletion(id) {
    const remove = named(button(t("player.delete"), "quiet danger"), "recording-delete");
    const really = named(button(t("player.delete_now"), "danger filled"), "recording-delete-now");
    const keep = named(button(t("player.keep"), "quiet"), "recording-keep");
    const ways = make("div", "memory-foot");
    ways.append(really, keep);
    const confirm = make("div", "memory-confirm");
    confirm.role = "alertdialog";
    confirm.ariaLabel = t("player.delete_question");
    confirm.hidden = true;
    confirm.append(make("p", "", t("player.delete_question")), ways);
    remove.addEventListener("click", () => {
      confirm.hidden = false;
      confirm.scrollIntoView({ block: "nearest" });
      keep.focus();
    });
    keep.addEventListener("click", () => {
      confirm.hidden = true;
      remove.focus();
    });
    really.addEventListener("click", () => void this.#delete(id));
    const foot = make("div", "memory-foot");
    foot.append(remove);
    return [foot, confirm];
  }

  /** @param {string} id */
  async #delete(id) {
    try {
      await deleteRecording(id);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status !== 404) return setText(this.said, t("recordings.not_deleted"));
    }
    await this.#showAll();
    setText(this.said, t("recordings.deleted"));
    this.title.focus();
  }

  /** What the server answers, or null: then the user sees why. @template T @param {Promise<T>} asked @returns {Promise<T | null>} */
  async #answer(asked) {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(this.said, t(error.status === 404 ? "recordings.gone" : "recordings.failed"));
      return null;
    }
  }

  /** Leave what is shown. */
  #clear() {
    this.#leave?.();
    this.#leave = null;
    this.content.replaceChildren();
    setText(this.said, "");
    return ++this.#asked;
  }
}

/** Its length, and for how long it is kept. @param {Recorded} recorded */
function aboutOf({ state, duration_ms: length, expires_at: until }) {
  if (state === "recording") return t("recordings.under_way");
  return `${clock(length)} · ${until === null ? t("recordings.for_good") : t("recordings.until", { when: dateTime(until * 1000) })}`;
}

/** @param {string} id */
function filesOf(id) {
  const files = named(make("div", "memory-foot"), "recording-files");
  files.role = "group";
  files.ariaLabel = t("player.download");
  for (const [words, address] of FILES) {
    const link = make("a", "button quiet", t(words));
    link.href = `/api/recordings/${encodeURIComponent(id)}${address}`;
    link.download = "";
    files.append(link);
  }
  return files;
}
