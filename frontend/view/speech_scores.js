/** The detector's probability of speech against its threshold, over the last ten seconds. */

import { SCORES_LIMIT, speechShare } from "../state/stats.js";
import { number, percent, t } from "../texts.js";
import { make, setText, whenColoursChange } from "./dom.js";

const WIDTH = 500;
const HEIGHT = 180;

/** @param {HTMLElement} place @returns {(speech: import("../state/stats.js").SpeechScores) => void} */
export function showSpeechScores(place) {
  const canvas = make("canvas", "speech-scores");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  canvas.role = "img";
  canvas.ariaLabel = t("drawer.speech_label");
  canvas.dataset.testid = "speech-scores";
  const words = make("p", "dim figure speech-words", t("drawer.speech_idle"));
  words.dataset.testid = "speech-words";
  place.append(make("h2", "", t("drawer.speech")), canvas, words);
  /** @type {import("../state/stats.js").SpeechScores | null} */
  let drawn = null;
  whenColoursChange(() => drawn && draw(canvas, drawn));
  return (speech) => {
    drawn = speech;
    draw(canvas, speech);
    setText(words, inWords(speech));
  };
}

/** @param {import("../state/stats.js").SpeechScores} speech */
function inWords(speech) {
  const { scores, threshold, frameMs } = speech;
  if (!scores.length) return t("drawer.speech_none");
  const seconds = (scores.length * frameMs) / 1000;
  const hundredths = (/** @type {number} */ value) => number(value, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return t("drawer.speech_now", {
    now: hundredths(scores[scores.length - 1]),
    threshold: hundredths(threshold),
    share: percent(speechShare(speech)),
    time: t("time.s", { s: Math.round(seconds) }),
  });
}

/** @param {HTMLCanvasElement} canvas @param {import("../state/stats.js").SpeechScores} speech */
function draw(canvas, { scores, threshold }) {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const y = (/** @type {number} */ score) => HEIGHT - 2 - score * (HEIGHT - 4);
  pen.clearRect(0, 0, WIDTH, HEIGHT);
  const step = WIDTH / SCORES_LIMIT;
  const first = SCORES_LIMIT - scores.length;
  for (const [n, score] of scores.entries()) {
    pen.fillStyle = colour(score >= threshold ? "--user" : "--edge");
    pen.fillRect((first + n) * step, y(score), Math.max(1, step), HEIGHT - y(score));
  }
  pen.strokeStyle = colour("--alarm");
  pen.setLineDash([4, 4]);
  pen.beginPath();
  pen.moveTo(0, y(threshold));
  pen.lineTo(WIDTH, y(threshold));
  pen.stroke();
}
