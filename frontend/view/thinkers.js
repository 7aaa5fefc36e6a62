/** One card per Thinker call: what was asked, the tools it calls, how long, where the answer came from; cancel, or say it. */

import { isWorking, mayAsk } from "../state/thinkers.js";
import { duration, listOf, t, tOf } from "../texts.js";
import { follow, make, part, setText } from "./dom.js";
import { citationLinks, sourceBadge } from "./sources.js";

const TICK_MS = 200;

/** @typedef {import("../state/thinkers.js").Thinker} Thinker */

/**
 * @param {import("../store.js").Store} store
 * @param {import("../conversation.js").Conversation} conversation
 */
export function showThinkers(store, conversation) {
  const list = part("thinkers");
  const shown = new Map();
  const empty = list.appendChild(make("li", "empty", ""));
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let ticking;
  const ask = (/** @type {HTMLButtonElement} */ button) => {
    void conversation.askThinker(button.dataset.call ?? "", button.dataset.asks === "say" ? "say" : "cancel");
  };

  store.subscribe((state, before) => {
    if (state.config !== before.config) setText(empty, introduction(state.config));
    if (state.thinkers === before.thinkers) return;
    empty.hidden = state.thinkers.length > 0;
    follow(list, shown, state.thinkers, (thinker) => thinker.id, () => createCard(ask), updateCard);
    showNarrow(state.thinkers);
    clearInterval(ticking);
    if (state.thinkers.some(isWorking)) ticking = setInterval(() => tick(shown), TICK_MS);
  });
}

/** On narrow windows the cards are behind a button. Beside it stands which Thinkers work, or how the last one ended. @param {readonly Thinker[]} thinkers */
function showNarrow(thinkers) {
  const working = thinkers.filter(isWorking);
  const badge = part("side-badge");
  badge.hidden = !working.length;
  setText(badge, String(working.length));
  const line = part("thinking");
  const told = working.length ? working : thinkers.slice(0, 1);
  line.hidden = !told.length;
  line.dataset.state = told[0]?.state ?? "";
  setText(line, told.length ? t("thinker.status", { state: t(`thinker.${told[0].state}`), names: listOf(told.map(({ label }) => label)) }) : "");
}

/** @param {any} config */
function introduction(config) {
  const labels = (config?.thinkers ?? []).map((/** @type {any} */ thinker) => thinker.label);
  return labels.length ? t("thinkers.standing_by", { names: listOf(labels) }) : t("thinkers.empty");
}

/** @param {(button: HTMLButtonElement) => void} ask */
function createCard(ask) {
  const card = make("li", "thinker");
  card.dataset.testid = "thinker";
  const head = make("div", "thinker-head");
  head.append(make("strong", "thinker-label"), make("span", "thinker-state"));
  const foot = make("div", "thinker-foot");
  const button = make("button", "quiet small thinker-ask");
  button.type = "button";
  button.dataset.testid = "thinker-ask";
  button.addEventListener("click", () => ask(button));
  foot.append(make("span", "thinker-time figure"), make("span", "thinker-sources"), button);
  card.append(head, make("p", "thinker-query"), make("ul", "thinker-steps"), make("p", "thinker-detail"), foot);
  return card;
}

/** @param {HTMLElement} card @param {Thinker} thinker */
function updateCard(card, thinker) {
  card.className = `thinker ${thinker.state}`;
  card.dataset.state = thinker.state;
  card.dataset.domain = thinker.domain;
  fill(card, ".thinker-label", thinker.label);
  fill(card, ".thinker-state", tOf("thinker", thinker.state));
  fill(card, ".thinker-query", thinker.query);
  fill(card, ".thinker-detail", thinker.error || (isWorking(thinker) ? thinker.detail : ""));
  fill(card, ".thinker-time", duration(thinker.elapsedMs));
  card.querySelector(".thinker-steps")?.replaceChildren(...thinker.steps.map(stepLine));
  const source = thinker.source ? [sourceBadge(thinker.source)] : [];
  card.querySelector(".thinker-sources")?.replaceChildren(...source, ...citationLinks(thinker.citations));
  showAsk(/** @type {HTMLButtonElement} */ (card.querySelector(".thinker-ask")), thinker);
}

/** @param {import("../state/thinkers.js").Step} step */
function stepLine({ name, state }) {
  const line = make("li", `step ${state}`, name);
  line.title = t(`step.${state}`, { tool: name });
  return line;
}

/** @param {HTMLButtonElement} button @param {Thinker} thinker */
function showAsk(button, thinker) {
  const may = mayAsk(thinker);
  button.hidden = !may;
  if (!may) return;
  button.dataset.call = thinker.id;
  button.dataset.asks = may;
  button.disabled = Boolean(thinker.asked);
  setText(button, thinker.asked ? t(thinker.asked === "say" ? "thinker.saying" : "thinker.cancelling") : t(`thinker.${may}`));
  button.ariaLabel = t("thinker.action", { action: button.textContent, thinker: thinker.label });
}

/** @param {HTMLElement} card @param {string} selector @param {string} text */
function fill(card, selector, text) {
  setText(/** @type {Element} */ (card.querySelector(selector)), text);
}

/** @param {Map<string | number, {item: Thinker, node: HTMLElement}>} shown */
function tick(shown) {
  for (const { item, node } of shown.values()) {
    if (isWorking(item)) fill(node, ".thinker-time", duration(item.elapsedMs + Date.now() - item.seenAt));
  }
}
