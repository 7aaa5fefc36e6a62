/**
 * A worker that is sent `{challenge, bits}` and answers `challenge:number`, of which SHA-256 begins with `bits` zero bits.
 * The browser's own SHA-256 answers each hash with a promise, ten times slower, and over plain HTTP not at all.
 */

import { sha256 } from "./sha256.js";

addEventListener("message", ({ data }) => postMessage(prove(data.challenge, data.bits)));

/** @param {string} challenge @param {number} bits @returns {string} */
function prove(challenge, bits) {
  for (let number = 0; ; number += 1) {
    const shown = `${challenge}:${number}`;
    if (zeroBits(sha256(shown)) >= bits) return shown;
  }
}

/** The zero bits that a hash, eight words of 32 bits, begins with. @param {Int32Array} words */
function zeroBits(words) {
  const at = words.findIndex((word) => word !== 0);
  return at < 0 ? words.length * 32 : at * 32 + Math.clz32(words[at]);
}
