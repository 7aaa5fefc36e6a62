/** A shared conversation, read-only: a reader with its link sees what was said, or that it is no longer shared. */

import { ApiError, request } from "./api.js";
import { dateTime, loaded, t } from "./texts.js";
import { make, named, part } from "./view/dom.js";
import { citationLinks } from "./view/sources.js";

/** @typedef {{shared_at: number, expires_at: number, messages: {role: "user" | "assistant", content: string, citations: any[]}[]}} Shared */

/** What a refusal means, by its status. @type {Record<number, [import("./texts.js").Key, import("./texts.js").Key]>} */
const REFUSALS = {
  404: ["shared.unknown", "shared.unknown.hint"],
  410: ["shared.gone", "shared.gone.hint"],
  429: ["shared.busy", "shared.busy.hint"],
};

await loaded;
const place = part("shared");
try {
  const token = location.pathname.split("/").at(-1) ?? "";
  showConversation(await request("GET", `/api/shared/${encodeURIComponent(token)}`));
} catch (error) {
  if (!(error instanceof ApiError)) throw error;
  const [what, hint] = REFUSALS[error.status] ?? ["shared.failed", "shared.failed.hint"];
  showHead(t(what), t(hint));
}
place.ariaBusy = "false";

/** @param {Shared} shared */
function showConversation({ shared_at: at, expires_at: until, messages }) {
  showHead(t("shared.title"), t("shared.about", { when: dateTime(at * 1000), until: dateTime(until * 1000) }));
  const list = named(make("ol", ""), "shared-words");
  list.append(...messages.map(entryOf));
  place.append(list);
}

/** @param {string} title @param {string} about */
function showHead(title, about) {
  document.title = title;
  place.append(make("h1", "", title), named(make("p", "dim", about), "shared-about"));
}

/** @param {Shared["messages"][number]} message */
function entryOf({ role, content, citations }) {
  const entry = make("li", `entry ${role}`);
  entry.append(make("span", "speaker", t(role === "user" ? "shared.user" : "speaker.assistant")), make("p", "words", content));
  const links = citationLinks(citations);
  if (links.length) {
    const sources = make("p", "sources");
    sources.append(...links);
    entry.append(sources);
  }
  return entry;
}
