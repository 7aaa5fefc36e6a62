/** Sources of answers: each has a title, and an address if it has one. */

/** @typedef {{title: string, url: string}} Citation */

/** @param {Citation} citation */
export function inWords({ title, url }) {
  return url && url !== title ? `${title} (${url})` : title;
}
