/**
 * An animation of who is speaking: a disc for the assistant, a ring for the caller, each as large and as wavy as its voice is
 * loud. Nothing moves in silence; with reduced motion, only the sizes change.
 */

import { part, whenColoursChange } from "./dom.js";

const SIZE = 144;
const CENTRE = SIZE / 2;
const POINTS = 72;
const DISC = 26;
const RING = 38;
const REACH = 22;
const FRAME_MS = 33;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

/** The opacity of each shape, by floor. @type {Record<string, {disc: number, ring: number}>} */
const PRESENCE = {
  closed: { disc: 0.22, ring: 0.15 },
  connecting: { disc: 0.3, ring: 0.3 },
  listening: { disc: 0.45, ring: 0.75 },
  user: { disc: 0.4, ring: 1 },
  pausing: { disc: 0.4, ring: 1 },
  assistant: { disc: 1, ring: 0.5 },
  held: { disc: 0.6, ring: 1 },
};

/**
 * @param {import("../store.js").Store} store
 * @returns {(levels: Record<"in" | "out", number>) => void} to be called whenever there are new levels
 */
export function showOrb(store) {
  const canvas = /** @type {HTMLCanvasElement} */ (part("orb"));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const colours = readColours(canvas);
  let drawnAt = 0;
  let latest = { in: 0, out: 0 };

  const paint = () => {
    const { phase, floor } = store.state;
    const name = phase === "connecting" || phase === "reconnecting" ? "connecting" : phase === "connected" || phase === "shaky" ? floor : "closed";
    const { disc, ring } = PRESENCE[name] ?? PRESENCE.closed;
    const time = CALM.matches ? 0 : performance.now() / 1000;
    pen.clearRect(0, 0, SIZE, SIZE);
    pen.globalAlpha = disc;
    pen.fillStyle = colours.assistant;
    shape(pen, DISC + latest.out * REACH, latest.out, time);
    pen.fill();
    pen.globalAlpha = ring;
    pen.strokeStyle = colours.user;
    pen.lineWidth = 3 + latest.in * 5;
    shape(pen, Math.max(RING + latest.in * REACH, DISC + latest.out * REACH + 8), latest.in, -time);
    pen.stroke();
  };
  whenColoursChange(() => {
    Object.assign(colours, readColours(canvas));
    paint();
  });
  store.subscribe((state, before) => (state.floor !== before.floor || state.phase !== before.phase) && paint());
  return (levels) => {
    const now = performance.now();
    latest = { ...levels };
    if (now - drawnAt < FRAME_MS && levels.in + levels.out > 0) return;
    drawnAt = now;
    paint();
  };
}

/**
 * A circle that a voice unsettles: three slow waves around it.
 * @param {CanvasRenderingContext2D} pen @param {number} radius @param {number} level 0 to 1 @param {number} time s
 */
function shape(pen, radius, level, time) {
  pen.beginPath();
  for (let point = 0; point <= POINTS; point++) {
    const angle = (point / POINTS) * 2 * Math.PI;
    const waves = Math.sin(3 * angle + 2.3 * time) + Math.sin(5 * angle - 3.1 * time) + Math.sin(2 * angle + 1.7 * time);
    const r = Math.min(radius + waves * level * 2.6, CENTRE - 4);
    pen.lineTo(CENTRE + r * Math.cos(angle), CENTRE + r * Math.sin(angle));
  }
  pen.closePath();
}

/** The canvas's own colours, so that a sheet may say otherwise. @param {HTMLElement} canvas */
function readColours(canvas) {
  const style = getComputedStyle(canvas);
  return { user: style.getPropertyValue("--user").trim(), assistant: style.getPropertyValue("--assistant").trim() };
}
