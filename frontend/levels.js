/** The loudness of each direction, 0 to 1, measured with WebAudio once per animation frame. */

const FLOOR_DB = -60;
const CEILING_DB = -12;
/** Share of the last value kept when it gets quieter: the eye likes a slow fall. */
const RELEASE = 0.85;
const CALM_INTERVAL_MS = 200;

/**
 * @typedef {"in" | "out"} Direction
 * @typedef {{source: MediaStreamAudioSourceNode, analyser: AnalyserNode, samples: Float32Array<ArrayBuffer>}} Tap
 */

export class Levels {
  /** @param {(levels: Record<Direction, number>) => void} onLevels */
  constructor(onLevels) {
    this.onLevels = onLevels;
    /**
     * @type {Map<Direction, Tap>}
     */
    this.taps = new Map();
    this.shown = { in: 0, out: 0 };
    this.running = false;
    this.drawnAt = 0;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
  }

  /**
   * Listen to a stream in place of the direction's last one.
   * @param {AudioContext} context
   * @param {Direction} direction
   * @param {MediaStream} stream
   */
  tap(context, direction, stream) {
    this.taps.get(direction)?.source.disconnect();
    this.taps.delete(direction);
    const source = sourceOf(context, stream);
    if (!source) return;
    const analyser = context.createAnalyser();
    analyser.fftSize = 1024;
    source.connect(analyser);
    this.taps.set(direction, { source, analyser, samples: new Float32Array(analyser.fftSize) });
    if (!this.running) this.#start();
  }

  /** Let go of both streams and show silence. */
  stop() {
    for (const { source } of this.taps.values()) source.disconnect();
    this.taps.clear();
    this.running = false;
    this.shown = { in: 0, out: 0 };
    this.onLevels(this.shown);
  }

  #start() {
    this.running = true;
    const frame = (/** @type {number} */ now) => {
      if (!this.running) return;
      if (!this.calm.matches || now - this.drawnAt >= CALM_INTERVAL_MS) {
        this.drawnAt = now;
        this.#measure();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  #measure() {
    for (const [direction, { analyser, samples }] of this.taps) {
      analyser.getFloatTimeDomainData(samples);
      this.shown[direction] = Math.max(loudness(samples), this.shown[direction] * RELEASE);
    }
    this.onLevels(this.shown);
  }
}

/**
 * A browser may refuse a stream of another sample rate: then there is no meter, but still a call.
 * @param {AudioContext} context
 * @param {MediaStream} stream
 */
function sourceOf(context, stream) {
  try {
    return context.createMediaStreamSource(stream);
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}

/** Root mean square on a decibel scale. @param {Float32Array} samples @returns {number} 0 at −60 dB, 1 at −12 dB */
export function loudness(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const decibels = 10 * Math.log10(sum / samples.length + 1e-12);
  return Math.min(1, Math.max(0, (decibels - FLOOR_DB) / (CEILING_DB - FLOOR_DB)));
}
