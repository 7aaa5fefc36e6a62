/** The pauses before dialling a lost connection again, pure: longer each time, up to a number of attempts. */

const FIRST_MS = 500;
const LONGEST_MS = 8_000;
export const MOST_ATTEMPTS = 10;

/**
 * @param {number} attempt from 1
 * @param {number} [chance] 0 to 1: pages that lost the same server must not all come back together
 * @returns {number | null} ms; null: enough
 */
export function waitBefore(attempt, chance = Math.random()) {
  if (attempt > MOST_ATTEMPTS) return null;
  const full = Math.min(FIRST_MS * 2 ** (attempt - 1), LONGEST_MS);
  return Math.round(full * (0.75 + chance / 2));
}
