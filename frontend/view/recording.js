/**
 * The recording of a call, where the operator allows it: the caller is asked first, sees that it goes on, and ends it at
 * any moment. Nothing is recorded before they agree, and their consent holds for this call alone: also when its lost
 * connection is made again.
 */

import { postRecording } from "../api.js";
import { requestFailure } from "../failures.js";
import { isLive } from "../store.js";
import { t } from "../texts.js";
import { button, make, named, part, setText } from "./dom.js";

/** @typedef {import("../store.js").State} State */

/** Why a recording ended without its caller. @type {Record<string, import("../texts.js").Key>} */
const ENDS = { full: "recording.end_full", failed: "recording.end_failed", stopped: "recording.end_stopped" };

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 * @param {(id: string) => void} listen opens a recording
 */
export function showRecording(store, conversation, listen) {
  /** The session that was last asked for: `session_started` may come after its caller has agreed. */
  let asked = "";

  /** Ask the server; what it refuses is shown. @param {boolean} on */
  async function ask(on) {
    const { session } = conversation;
    if (!session) return;
    asked = session.id;
    try {
      await postRecording(session, on);
    } catch (error) {
      if (on) store.dispatch("page_recording_answered", { agreed: false });
      store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
    }
  }
  const sign = signOf(() => void ask(false), () => store.dispatch("page_recording_asked"));
  const question = questionOf((agreed) => {
    store.dispatch("page_recording_answered", { agreed });
    if (agreed) void ask(true);
    sign.line.focus();
  });
  const listenNow = named(button(t("recording.listen"), "quiet"), "listen-recording");
  listenNow.addEventListener("click", () => listen(store.state.recording.id));
  part("summary").append(listenNow);

  store.subscribe((state, before) => {
    const { recording, session } = state;
    const id = session?.session_id;
    const isNew = id && id !== before.session?.session_id && id !== asked;
    if (isNew && recording.consent === "given" && !recording.on) void ask(true);
    showQuestion(question, state);
    showSign(sign, state);
    listenNow.hidden = !recording.id || recording.on;
  });
}

/** True where the call under way may be recorded. @param {State} state */
function mayBe(state) {
  return Boolean(state.config?.extensions?.recordings?.offered) && isLive(state);
}

/** @param {(agreed: boolean) => void} answer */
function questionOf(answer) {
  const box = named(make("section", "reminders recording-question"), "recording-question");
  box.role = "alert";
  box.ariaLabel = t("recording.question");
  const words = make("p", "");
  const means = make("span", "reminder-text");
  words.append(make("strong", "", t("recording.question")), means);
  const ways = make("div", "tools");
  for (const [name, agreed] of /** @type {[string, boolean][]} */ ([["agree", true], ["refuse", false]])) {
    const choice = named(button(t(agreed ? "recording.agree" : "recording.refuse"), "quiet"), `recording-${name}`);
    choice.addEventListener("click", () => answer(agreed));
    ways.append(choice);
  }
  const row = make("div", "reminder");
  row.append(words, ways);
  box.append(row);
  part("confirmations").after(box);
  return { box, means };
}

/** @param {ReturnType<typeof questionOf>} question @param {State} state */
function showQuestion({ box, means }, state) {
  const { consent, on } = state.recording;
  const stands = consent === "asked" || (consent === "unasked" && state.microphone.mode === "on");
  box.hidden = !(mayBe(state) && stands && !on);
  if (!box.hidden) setText(means, t("recording.means", { kept: keptFor(state.config.extensions.recordings.keep_hours) }));
}

/** For how long recordings are kept. @param {number} hours 0: for good */
export function keptFor(hours) {
  if (!hours) return t("recording.kept");
  if (hours < 48) return t("recording.kept_hours", { count: hours });
  return t("recording.kept_days", { count: Math.round(hours / 24) });
}

/** @param {() => void} stop @param {() => void} ask */
function signOf(stop, ask) {
  const line = named(make("div", "recorded"), "recording");
  line.tabIndex = -1;
  const words = make("span", "recorded-words");
  words.role = "status";
  const end = named(button(t("recording.stop"), "quiet small"), "recording-stop");
  end.addEventListener("click", stop);
  const begin = named(button(t("recording.begin"), "quiet small"), "recording-begin");
  begin.addEventListener("click", ask);
  line.append(words, end, begin);
  /** @type {Element} */ (document.querySelector(".presence-words")).append(line);
  return { line, words, end, begin };
}

/** @param {ReturnType<typeof signOf>} sign @param {State} state */
function showSign({ line, words, end, begin }, state) {
  const { consent, on, reason } = state.recording;
  line.hidden = !mayBe(state);
  line.dataset.on = String(on);
  setText(words, on ? t("recording.on") : ENDS[reason] ? t(ENDS[reason]) : "");
  end.hidden = !on;
  begin.hidden = on || !(consent === "refused" || (consent === "unasked" && state.microphone.mode !== "on"));
}
