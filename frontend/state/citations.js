/** Sources of answers: each has a title, and an address if it has one. */

/** @typedef {{title: string, url: string}} Citation */

/**
 * The citations of an event. An earlier version of the server, which may still run beside this one, sends each as
 * text: `Title (https://…)`, or an address alone.
 * @param {readonly (Citation | string)[] | undefined} received
 * @returns {readonly Citation[] | undefined}
 */
export function citationsOf(received) {
  return received?.map((each) => (typeof each === "string" ? fromText(each) : each));
}

/** @param {Citation} citation */
export function inWords({ title, url }) {
  return url && url !== title ? `${title} (${url})` : title;
}

/** @param {string} text @returns {Citation} */
function fromText(text) {
  const [, title, url] = /^(.*?) ?\((https?:\/\/\S+)\)$/s.exec(text) ?? [];
  if (url) return { title: title || url, url };
  return { title: text, url: /^https?:\/\/\S+$/.test(text) ? text : "" };
}
