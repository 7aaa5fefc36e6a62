/** Plays a recording, both sides together, and follows it in what was said: choose a line to hear it. */

import { piecesOf, soundingAt, wordAt } from "../state/playback.js";
import { number, t } from "../texts.js";
import { clock } from "./call.js";
import { button, make, named, setText } from "./dom.js";

/** @typedef {import("../state/playback.js").Transcribed} Transcribed @typedef {import("../state/playback.js").Utterance} Utterance */

const SPEEDS = [0.75, 1, 1.25, 1.5, 2];

/**
 * @param {Transcribed} recording
 * @param {(words: string) => void} say tells the user what went wrong
 * @returns {{box: HTMLElement, close: () => void}}
 */
export function playerOf(recording, say) {
  const { utterances, duration_ms: length } = recording;
  const audio = soundOf(recording.id, say);
  const bar = barOf(length);
  const lines = utterances.map(lineOf);
  const list = named(make("ol", "said"), "player-words");
  list.ariaLabel = t("player.words");
  list.append(...lines.map(({ item }) => item));
  const box = named(make("div", "player"), "player");
  box.append(bar.row, lanesOf(recording), make("p", "dim player-hint", t(utterances.length ? "player.hint" : "player.no_words")), list);

  let shown = "";
  /** Mark what sounds now. */
  const follow = () => {
    const ms = audio.currentTime * 1000;
    bar.show(ms, !audio.paused);
    const sounding = soundingAt(utterances, ms);
    for (const place of sounding) lines[place].mark(wordAt(utterances[place].words, ms));
    if (shown === sounding.join()) return;
    shown = sounding.join();
    for (const [place, line] of lines.entries()) line.sound(sounding.includes(place));
    if (!audio.paused && sounding.length) lines[sounding[0]].item.scrollIntoView({ block: "nearest" });
  };
  let frame = 0;
  const run = () => {
    follow();
    frame = requestAnimationFrame(run);
  };
  const rest = () => {
    cancelAnimationFrame(frame);
    follow();
  };
  const play = () => void audio.play().catch(() => {});  // the event `error` reports what cannot be played
  audio.addEventListener("play", () => (cancelAnimationFrame(frame), run()));
  for (const event of ["pause", "ended", "seeked"]) audio.addEventListener(event, () => audio.paused && rest());
  bar.play.addEventListener("click", () => (audio.paused ? play() : audio.pause()));
  bar.range.addEventListener("input", () => {
    audio.currentTime = Number(bar.range.value);
  });
  bar.speed.addEventListener("change", () => {
    audio.playbackRate = Number(bar.speed.value);
  });
  list.addEventListener("click", ({ target }) => {
    const chosen = target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest("[data-from]")) : null;
    if (!chosen) return;
    audio.currentTime = Number(chosen.dataset.from) / 1000;
    play();
  });
  follow();
  const close = () => {
    audio.pause();
    cancelAnimationFrame(frame);
    audio.removeAttribute("src");
    audio.load();
  };
  return { box: (box.append(audio), box), close };
}

/** Opus, or WAV for browsers that play no Opus in Ogg. @param {string} id @param {(words: string) => void} say */
function soundOf(id, say) {
  const audio = make("audio", "");
  const address = `/api/recordings/${encodeURIComponent(id)}/audio`;
  const addresses = [address, `${address}?format=wav`];
  const next = () => {
    const found = addresses.shift();
    if (found) audio.src = found;
    else say(t("player.unplayable"));
  };
  audio.preload = "metadata";
  audio.addEventListener("error", () => audio.hasAttribute("src") && next());
  next();
  return audio;
}

/** @param {number} length ms */
function barOf(length) {
  const play = named(button(t("player.play"), "primary player-play"), "player-play");
  const range = named(make("input", "player-range"), "player-position");
  Object.assign(range, { type: "range", min: "0", max: String(Math.ceil(length / 1000)), step: "1", value: "0", ariaLabel: t("player.position") });
  const time = named(make("span", "figure dim"), "player-time");
  const speed = named(make("select", "player-speed"), "player-speed");
  speed.ariaLabel = t("player.speed");
  speed.append(...SPEEDS.map((each) => new Option(`${number(each)}×`, String(each), each === 1, each === 1)));
  const row = make("div", "player-bar");
  row.append(play, range, time, speed);
  const whole = clock(length);
  /** @param {number} ms @param {boolean} playing */
  const show = (ms, playing) => {
    const at = clock(ms);
    setText(play, t(playing ? "player.pause" : "player.play"));
    setText(time, `${at} / ${whole}`);
    if (document.activeElement !== range || playing) range.value = String(Math.round(ms / 1000));
    if (range.ariaValueText !== at) range.ariaValueText = t("player.at", { at, length: whole });
  };
  return { row, play, range, speed, show };
}

/** When each side speaks, at a glance. @param {Transcribed} recording */
function lanesOf({ utterances, duration_ms: length }) {
  const lanes = make("div", "voice-lanes");
  lanes.ariaHidden = "true";
  for (const role of ["user", "assistant"]) {
    const lane = make("div", `voice-lane ${role}`);
    for (const { from_ms: from, to_ms: to, ...said } of utterances) {
      if (said.role !== role || said.typed) continue;
      const span = make("span", "");
      span.style.left = `${(100 * from) / length}%`;
      span.style.width = `${(100 * (to - from)) / length}%`;
      lane.append(span);
    }
    lanes.append(lane);
  }
  return lanes;
}

/** One utterance, as a line to choose. @param {Utterance} utterance */
function lineOf(utterance) {
  const { role, from_ms: from, typed, interrupted, words } = utterance;
  const remark = [typed && t("player.typed"), interrupted && t("player.cut")].filter(Boolean).join(" · ");
  const about = make("span", "dim figure said-about", clock(from));
  const speaker = make("strong", "", t(role === "user" ? "speaker.user" : "speaker.assistant"));
  const text = make("span", "said-words");
  /** @type {HTMLElement[]} */
  const spans = [];
  for (const piece of piecesOf(utterance)) {
    if (piece.word === null) {
      text.append(piece.text);
      continue;
    }
    const span = make("span", "", piece.text);
    span.dataset.from = String(words[piece.word][1]);
    spans[piece.word] = span;
    text.append(span);
  }
  const line = button("", `said-line ${role}`);
  line.dataset.from = String(from);
  line.append(about, " ", speaker, " ", text, ...(remark ? [" ", make("span", "dim", remark)] : []));
  const item = make("li", "");
  item.append(line);
  let marked = -1;
  const mark = (/** @type {number} */ word) => {
    if (word === marked) return;
    spans[marked]?.classList.remove("now");
    spans[word]?.classList.add("now");
    marked = word;
  };
  const sound = (/** @type {boolean} */ sounds) => {
    line.classList.toggle("now", sounds);
    line.ariaCurrent = sounds ? "true" : null;
    if (!sounds) mark(-1);
  };
  return { item, mark, sound };
}
