/** Where an answer came from: live, kept, made up or known by heart, and the pages it rests on. */

import { inWords } from "../state/citations.js";
import { tOf } from "../texts.js";
import { make } from "./dom.js";

const SHOWN = 4;

/** Sample data is named as such: it must never pass for the real thing. @param {string} source */
export function sourceBadge(source) {
  const badge = make("span", "source", tOf("source", source));
  badge.dataset.source = source;
  return badge;
}

/** Works with an address as links, others as they are called. @param {readonly import("../state/citations.js").Citation[]} citations @returns {HTMLElement[]} */
export function citationLinks(citations) {
  return citations.slice(0, SHOWN).map(({ title, url }) => {
    const address = safe(url);
    if (!address) return make("span", "citation", title);
    const link = make("a", "citation", title === url ? address.hostname.replace(/^www\./, "") : title);
    link.href = address.href;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.title = inWords({ title, url });
    return link;
  });
}

/** Only what a browser may safely open: never a script. @param {string} url */
function safe(url) {
  const address = URL.canParse(url) ? new URL(url) : null;
  return address && ["http:", "https:"].includes(address.protocol) ? address : null;
}
