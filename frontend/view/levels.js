/** The two level meters: a transform per frame, a spoken value per second. */

import { part } from "./dom.js";

const ANNOUNCE_EVERY_MS = 1_000;

/** @returns {(levels: Record<"in" | "out", number>) => void} */
export function showLevels() {
  const meters = { in: meter("level-in"), out: meter("level-out") };
  return (levels) => {
    const now = performance.now();
    draw(meters.in, levels.in, now);
    draw(meters.out, levels.out, now);
  };
}

/** @param {string} name */
function meter(name) {
  const bar = /** @type {HTMLElement} */ (part(name).querySelector("[role=meter]"));
  const fill = /** @type {HTMLElement} */ (bar.firstElementChild);
  return { bar, fill, drawn: -1, toldAt: 0 };
}

/** @param {ReturnType<typeof meter>} shown @param {number} level 0 to 1 @param {number} now ms */
function draw(shown, level, now) {
  const rounded = Math.round(level * 200) / 200;
  if (rounded === shown.drawn) return;
  shown.drawn = rounded;
  shown.fill.style.setProperty("transform", `scaleX(${rounded})`);
  if (now - shown.toldAt < ANNOUNCE_EVERY_MS && rounded > 0) return;
  shown.toldAt = now;
  shown.bar.setAttribute("aria-valuenow", String(Math.round(rounded * 100)));
}
