/**
 * The audio thread's part of a call over a WebSocket: the microphone as 24 kHz PCM16 in pieces of 20 ms, and the
 * assistant's voice from such pieces. The browser's own rate is another one, so both resample, by straight lines between
 * samples; the aliases are filtered off before and after, outside of the worklet.
 */

const WIRE_RATE = 24_000;
const PIECE = 480;
/** Kept before playing begins, so that a late piece is no gap. */
const AHEAD_S = 0.06;
/** The most sound that may wait; older sound is dropped, since a call that lags is worse than one that skips. */
const MOST_S = 5;

/** Microphone in, `Int16Array` buffers out of the port. */
class Capture extends AudioWorkletProcessor {
  #piece = new Int16Array(PIECE);
  #filled = 0;
  #position = 0;
  #last = 0;

  /** @param {Float32Array[][]} inputs */
  process([[samples]]) {
    if (!samples) return true;
    const step = sampleRate / WIRE_RATE;
    for (; this.#position < samples.length; this.#position += step) {
      const whole = Math.floor(this.#position);
      const before = whole > 0 ? samples[whole - 1] : this.#last;
      this.#append(before + (samples[whole] - before) * (this.#position - whole));
    }
    this.#position -= samples.length;
    this.#last = samples[samples.length - 1];
    return true;
  }

  /** @param {number} value */
  #append(value) {
    this.#piece[this.#filled++] = Math.max(-1, Math.min(1, value)) * 32_767;
    if (this.#filled < PIECE) return;
    this.port.postMessage(this.#piece.buffer, [this.#piece.buffer]);
    this.#piece = new Int16Array(PIECE);
    this.#filled = 0;
  }
}

/** `Int16Array` buffers into the port, sound out; `null` into the port throws away what is waiting. */
class Playback extends AudioWorkletProcessor {
  /** @type {Int16Array[]} */
  #waiting = [];
  #waitingSamples = 0;
  #playing = false;
  #position = 0;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => (data ? this.#queue(new Int16Array(data)) : this.#flush());
  }

  /** @param {Float32Array[][]} _inputs @param {Float32Array[][]} outputs */
  process(_inputs, [[samples]]) {
    if (!this.#playing) this.#playing = this.#waitingSamples >= AHEAD_S * WIRE_RATE;
    if (!this.#playing) return true;
    const step = WIRE_RATE / sampleRate;
    for (let i = 0; i < samples.length && this.#playing; i++) {
      samples[i] = this.#at(this.#position) / 32_768;
      this.#position += step;
      this.#drop();
    }
    return true;
  }

  /** @param {Int16Array} piece */
  #queue(piece) {
    this.#waiting.push(piece);
    this.#waitingSamples += piece.length;
    while (this.#waitingSamples > MOST_S * WIRE_RATE) this.#waitingSamples -= this.#waiting.shift()?.length ?? 0;
  }

  /** Between two samples, by a straight line. @param {number} position in the first piece */
  #at(position) {
    const [first, second] = this.#waiting;
    const whole = Math.floor(position);
    const value = first[whole];
    const next = whole + 1 < first.length ? first[whole + 1] : (second?.[0] ?? value);
    return value + (next - value) * (position - whole);
  }

  /** Leave the first piece once it is played; with nothing behind it, fall silent until there is some again. */
  #drop() {
    const first = this.#waiting[0];
    if (this.#position < first.length) return;
    this.#position -= first.length;
    this.#waitingSamples -= first.length;
    this.#waiting.shift();
    this.#playing = this.#waiting.length > 0;
  }

  #flush() {
    this.#waiting = [];
    this.#waitingSamples = 0;
    this.#position = 0;
    this.#playing = false;
  }
}

registerProcessor("capture", Capture);
registerProcessor("playback", Playback);
