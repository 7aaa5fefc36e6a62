/** What the user is asked to agree to, pure: the questions that are open, the oldest first. */

/** @typedef {{id: string, tool: string, arguments: Record<string, unknown>, conversation_id: string}} Confirmation */

export const CONFIRMATIONS_LIMIT = 5;

/** @type {readonly Confirmation[]} */
export const NO_CONFIRMATIONS = Object.freeze([]);

/**
 * @param {readonly Confirmation[]} open
 * @param {import("../store.js").Action} action
 * @returns {readonly Confirmation[]}
 */
export function confirmationsAfter(open, { type, data }) {
  switch (type) {
    case "confirmation.asked":
      return [...open.filter(({ conversation_id }) => conversation_id !== data.conversation_id), data].slice(-CONFIRMATIONS_LIMIT);
    case "confirmation.answered":
      return open.filter(({ id }) => id !== data.id);
    case "page_confirmations_loaded":
      return data.confirmations.slice(-CONFIRMATIONS_LIMIT);
    default:
      return open;
  }
}

/** The call itself in words: "github issue: action close, number 12". @param {Confirmation} confirmation */
export function actOf({ tool, arguments: given }) {
  const words = (/** @type {string} */ name) => name.replaceAll("_", " ");
  const values = Object.entries(given).map(([name, value]) => `${words(name)} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return `${words(tool)}: ${values.join(", ")}`;
}
