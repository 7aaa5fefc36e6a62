/**
 * The live waveform of each side: the last seconds of its voice, the newest on the right, and its level for those who
 * do not see it. Nothing is drawn in silence. With reduced motion nothing wanders: one bar is as long as the
 * voice is loud.
 */

import { part, whenColoursChange } from "./dom.js";

const COLUMNS = 48;
const COLUMN_MS = 50;
/** A pause in the levels after which the waveform begins again: between two calls, or in a hidden tab. */
const ANEW_MS = 1_000;
const ANNOUNCE_EVERY_MS = 1_000;
/** The share of the height that a silent column has. */
const LINE = 0.06;
/** The share of a column that its bar has. */
const BAR = 0.6;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

/** @returns {(levels: Record<"in" | "out", number>, now?: number) => void} levels: 0 to 1; now: ms */
export function showLevels() {
  const waves = { in: waveOf("level-in"), out: waveOf("level-out") };
  whenColoursChange(() => Object.values(waves).forEach(paint));
  return (levels, now = performance.now()) => {
    follow(waves.in, levels.in, now);
    follow(waves.out, levels.out, now);
  };
}

/** @param {string} name */
function waveOf(name) {
  const meter = /** @type {HTMLElement} */ (part(name).querySelector("[role=meter]"));
  const canvas = /** @type {HTMLCanvasElement} */ (meter.firstElementChild);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const heights = new Float32Array(COLUMNS);
  return { meter, canvas, pen, heights, peak: 0, at: 0, isFlat: false, told: -1, toldAt: 0 };
}

/** @typedef {ReturnType<typeof waveOf>} Wave */

/** @param {Wave} wave @param {number} level @param {number} now */
function follow(wave, level, now) {
  announce(wave, Math.round(level * 100), now);
  wave.peak = Math.max(wave.peak, level);
  if (now - wave.at < COLUMN_MS) return;
  if (now - wave.at > ANEW_MS) wave.heights.fill(0);
  wave.at = now;
  wave.heights.copyWithin(0, 1);
  wave.heights[COLUMNS - 1] = wave.peak;
  wave.peak = 0;
  const isFlat = wave.heights.every((height) => height === 0);
  if (isFlat && wave.isFlat) return;
  wave.isFlat = isFlat;
  paint(wave);
}

/** @param {Wave} wave */
function paint({ pen, canvas, heights }) {
  const { width, height } = canvas;
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = getComputedStyle(canvas).color;
  if (CALM.matches) return pen.fillRect(0, height / 4, Math.max(LINE, heights[COLUMNS - 1]) * width, height / 2);
  const column = width / COLUMNS;
  pen.beginPath();
  for (let number = 0; number < COLUMNS; number++) {
    const tall = Math.max(LINE, heights[number]) * height;
    pen.rect(number * column, (height - tall) / 2, column * BAR, tall);
  }
  pen.fill();
}

/** Set the meter's value once a second at most, but immediately in silence. @param {Wave} wave @param {number} percent @param {number} now */
function announce(wave, percent, now) {
  if (percent === wave.told || (percent > 0 && now - wave.toldAt < ANNOUNCE_EVERY_MS)) return;
  wave.told = percent;
  wave.toldAt = now;
  wave.meter.setAttribute("aria-valuenow", String(percent));
}
