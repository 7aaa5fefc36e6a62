/** Where an answer came from: live, kept, made up or known by heart, and the pages it rests on. */

import { make } from "./dom.js";

/** Sample data is named as such: it must never pass for the real thing. @type {Record<string, string>} */
const SOURCE_WORDS = { live: "live data", cache: "from cache", sample: "sample data", model: "model's knowledge" };
const SHOWN = 4;

/** @param {string} source */
export function sourceBadge(source) {
  const badge = make("span", "source", SOURCE_WORDS[source] ?? source);
  badge.dataset.source = source;
  return badge;
}

/** Addresses as links, other works as they are called. @param {readonly string[]} citations @returns {HTMLElement[]} */
export function citationLinks(citations) {
  return citations.slice(0, SHOWN).map((citation) => {
    const address = addressIn(citation);
    if (!address) return make("span", "citation", citation);
    const link = make("a", "citation", address.hostname.replace(/^www\./, ""));
    link.href = address.href;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.title = citation;
    return link;
  });
}

/** Only what a browser may safely open: never a script, nor the brackets around it. @param {string} citation */
function addressIn(citation) {
  const found = /https?:\/\/[^\s()<>"]+/.exec(citation)?.[0].replace(/[.,;:!?\]]+$/, "");
  return found && URL.canParse(found) ? new URL(found) : null;
}
