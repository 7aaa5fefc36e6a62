/** SHA-256 (FIPS 180-4) of a short ASCII text, at once. */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
const ROUNDS = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
/** Of the square roots of the first eight (5.3.3). */
const START = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));
const BLOCK_BYTES = 64;
const words = new Int32Array(64);

/** @param {string} text ASCII @returns {Int32Array} the hash, eight words, the most significant first */
export function sha256(text) {
  const state = START.slice();
  const blocks = Math.ceil((text.length + 9) / BLOCK_BYTES);
  for (let block = 0; block < blocks; block += 1) {
    words.fill(0, 0, 16);
    const begin = block * BLOCK_BYTES;
    for (let at = begin; at <= Math.min(text.length, begin + BLOCK_BYTES - 1); at += 1) {
      const byte = at < text.length ? text.charCodeAt(at) : 0x80;
      words[(at - begin) >> 2] |= byte << (24 - 8 * (at & 3));
    }
    if (block === blocks - 1) words[15] = text.length * 8;
    mix(state);
  }
  return state;
}

/** Mix the block in `words` into the state (6.2.2). @param {Int32Array} state */
function mix(state) {
  for (let at = 16; at < 64; at += 1) {
    const near = words[at - 15];
    const far = words[at - 2];
    const low = turned(near, 7) ^ turned(near, 18) ^ (near >>> 3);
    const high = turned(far, 17) ^ turned(far, 19) ^ (far >>> 10);
    words[at] = words[at - 16] + low + words[at - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state; // written out below: swapping by lists takes four times as long
  for (let at = 0; at < 64; at += 1) {
    const chosen = (e & f) ^ (~e & g);
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + ROUNDS[at] + words[at]) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** @param {number} word @param {number} bits @returns {number} rotated to the right */
function turned(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}

/** @param {number} root @returns {number} */
function fraction(root) {
  return Math.floor((root % 1) * 2 ** 32) | 0;
}

/** @param {number} count @returns {number[]} */
function primes(count) {
  /** @type {number[]} */
  const found = [];
  for (let number = 2; found.length < count; number += 1) {
    if (found.every((prime) => number % prime)) found.push(number);
  }
  return found;
}
