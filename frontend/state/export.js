/** The conversation as a document to keep, pure: Markdown for people, JSON for programs. */

import { t, tOf } from "../texts.js";
import { inWords } from "./citations.js";
import { isAside, unheard } from "./transcript.js";

/**
 * @typedef {import("./transcript.js").Entry} Entry
 * @typedef {import("./transcript.js").Answer} Answer
 */

/** @param {readonly Entry[]} entries @returns {string} */
export function asMarkdown(entries) {
  return `# ${t("talk.title")}\n\n${entries.map(paragraph).join("\n\n")}\n`;
}

/** @param {readonly Entry[]} entries @param {Record<string, any> | null} session the `session_started` event */
export function asJson(entries, session) {
  const about = session && { id: session.session_id, responder: session.responder, model: session.model };
  const messages = entries.filter((entry) => !isAside(entry)).map(message);
  return `${JSON.stringify({ session: about, messages }, null, 2)}\n`;
}

/** @param {Entry} entry */
function paragraph(entry) {
  if (entry.role === "note") return `*${entry.text}*`;
  if (entry.role === "murmur") return `*${t("speaker.murmur")}: ${entry.text}*`;
  const cut = unheard(entry);
  const words = entry.state === "interrupted" ? [entry.heard, cut && `~~${cut.trim()}~~`] : [entry.text];
  const sources = entry.answers.map((answer) => `  \n*${[answer.label, answer.source && tOf("source", answer.source), ...answer.citations.map(inWords)].filter(Boolean).join(" · ")}*`);
  return `**${t(`speaker.${entry.role}`)}:** ${words.filter(Boolean).join(" ")}${sources.join("")}`;
}

/** @param {Entry} entry */
function message(entry) {
  const { role, text, heard, state, at, answers } = entry;
  return {
    role,
    content: text,
    at: new Date(at).toISOString(),
    ...(state === "interrupted" && { interrupted: true, heard }),
    ...(answers.length && { answers: answers.map(({ domain, source, citations }) => ({ domain, source, citations })) }),
  };
}
