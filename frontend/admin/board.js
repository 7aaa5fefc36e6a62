/** The figures: tiles for a glance, tables for a look. Rows stay where they are, so that focus and eye do. */

import { follow, make, setText } from "../view/dom.js";
import { showBudgets } from "./budgets.js";
import { fill, setRows, tableOf } from "./tables.js";

/**
 * @typedef {{p50_ms: number, p95_ms: number}} Middle
 * @typedef {{session_id: string, state: string, since: number, ended_at: number | null, ended_reason: string | null,
 *   transport: string | null, responder: string, user: string, counts: Record<string, number>}} Session
 * @typedef {Middle & {domain: string, outcomes: Record<string, number>}} Thinker
 * @typedef {object} Overview as `GET /api/admin/overview` returns it
 * @property {number} at
 * @property {number} cap
 * @property {readonly Session[]} sessions
 * @property {{count: number, legs: Record<string, Middle>}} turns
 * @property {readonly Thinker[]} thinkers
 * @property {Record<string, string>} checks
 * @property {Record<string, number>} ended
 * @property {Record<string, number>} queues
 * @property {Record<string, number>} faults
 * @property {Record<string, number>} process
 * @property {{replies: number, tokens: number}} discarded
 * @property {import("./budgets.js").Budget | {}} budget
 */

/** The names of the stages, in order. @type {Record<string, string>} */
const LEGS = {
  hangover: "End of speech confirmed",
  commit: "Turn submitted",
  reply_started: "Reply started",
  first_audio: "First sound",
  end_of_turn: "Waited for more",
  played: "Heard",
  first_sound: "Time to first sound",
  answer: "Time to the answer",
};
const REALLY_MS = 4_000;

/**
 * @param {HTMLElement} place
 * @param {(id: string) => void} onEnd
 * @returns {(overview: Overview) => void}
 */
export function showBoard(place, onEnd) {
  const tiles = make("ul", "tiles");
  tiles.dataset.testid = "tiles";
  const sessions = tableOf("Calls", "sessions", ["State", "Since", "Duration", "Transport", "User", "Turns", "Interruptions", "Thinkers", "Errors", "Session", ""]);
  const legs = tableOf("Where the time of a turn goes", "legs", ["Leg", "Median", "95% at most", ""]);
  const thinkers = tableOf("Thinkers", "admin-thinkers", ["Thinker", "Answered", "Failed", "Late", "Cancelled", "Median", "95% at most"]);
  const budgets = make("div", "budgets");
  const drawBudgets = showBudgets(budgets);
  const endings = tableOf("How calls ended", "endings", ["Reason", "Calls"]);
  const queues = tableOf("Waiting in queues", "queues", ["Queue", "Depth"]);
  const checks = tableOf("Checks", "checks", ["Check", "Result"]);
  const small = make("div", "small-tables");
  small.append(endings.box, queues.box, checks.box);
  place.append(tiles, sessions.box, budgets, legs.box, thinkers.box, small);
  const shown = { tiles: new Map(), sessions: new Map() };
  return (overview) => {
    follow(tiles, shown.tiles, tilesOf(overview), ([name]) => name, createTile, updateTile);
    const rows = overview.sessions.map((session) => ({ session, at: overview.at }));
    follow(sessions.body, shown.sessions, rows, ({ session }) => session.session_id, () => createSession(onEnd), updateSession);
    fill(sessions, rows.length);
    setRows(legs, Object.entries(LEGS).filter(([leg]) => overview.turns.legs[leg]).map(([leg, words]) => legRow(words, overview.turns.legs[leg], overview)));
    setRows(thinkers, overview.thinkers.map(thinkerRow));
    drawBudgets(overview.budget);
    setRows(endings, Object.entries(overview.ended).filter(([, calls]) => calls).map(([reason, calls]) => [reason.replaceAll("_", " "), calls]));
    setRows(queues, Object.entries(overview.queues).map(([queue, depth]) => [queue.replaceAll("_", " "), Math.round(depth)]));
    setRows(checks, Object.entries(overview.checks));
  };
}

/** @typedef {[name: string, value: string, bad: boolean]} Tile */

/** @param {Overview} overview @returns {Tile[]} */
function tilesOf({ sessions, cap, turns, thinkers, faults, process, discarded, at }) {
  const live = sessions.filter(({ state }) => state === "live").length;
  const { first_sound: sound, answer } = turns.legs;
  const failed = thinkers.reduce((sum, { outcomes }) => sum + (outcomes.failed ?? 0), 0);
  return [
    ["Live calls", cap ? `${live} of ${cap}` : String(live), cap > 0 && live >= cap],
    ["Median time to first sound", sound ? milliseconds(sound.p50_ms) : "–", false],
    ["95% at most", sound ? milliseconds(sound.p95_ms) : "–", false],
    ["Median time to the answer", answer ? milliseconds(answer.p50_ms) : "–", false],
    ["Thinkers failed", String(failed), failed > 0],
    ["Server errors", String(faults.server_errors), faults.server_errors > 0],
    ["Memory writes lost", String(faults.memory_writes_lost), faults.memory_writes_lost > 0],
    ["Tokens of discarded replies", discarded.tokens.toLocaleString("en"), false],
    ["Memory used", `${Math.round(process.memory_bytes / 1e6)} MB`, false],
    ["Up for", process.started_at ? lasting(at - process.started_at) : "–", false],
  ];
}

function createTile() {
  const tile = make("li", "tile");
  tile.append(make("span", "tile-name"), make("span", "tile-value figure"));
  return tile;
}

/** @param {HTMLElement} tile @param {Tile} item */
function updateTile(tile, [name, value, bad]) {
  setText(tile.children[0], name);
  setText(tile.children[1], value);
  tile.classList.toggle("bad", bad);
}

/** @param {(id: string) => void} onEnd */
function createSession(onEnd) {
  const row = make("tr", "");
  for (let cell = 0; cell < 11; cell += 1) row.append(make(cell ? "td" : "th", ""));
  /** @type {HTMLTableCellElement} */ (row.children[0]).scope = "row";
  row.children[9].append(make("code", ""));
  const end = make("button", "quiet small danger");
  end.type = "button";
  end.append(make("span", "", "End"), make("span", "unseen"));
  row.children[10].append(end);
  askTwice(end, () => onEnd(row.dataset.id ?? ""));
  return row;
}

/** The first press asks, the second does it. @param {HTMLButtonElement} button @param {() => void} go */
function askTwice(button, go) {
  const words = button.children[0];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let asking;
  const calm = () => {
    clearTimeout(asking);
    asking = undefined;
    setText(words, "End");
  };
  button.addEventListener("blur", calm);
  button.addEventListener("click", () => {
    if (asking !== undefined) {
      calm();
      return go();
    }
    setText(words, "End this call?");
    asking = setTimeout(calm, REALLY_MS);
  });
}

/** @param {HTMLElement} row @param {{session: Session, at: number}} item */
function updateSession(row, { session, at }) {
  const live = session.state !== "ended";
  row.dataset.id = session.session_id;
  row.className = session.state;
  const cells = [
    live ? session.state : `${(session.ended_reason ?? "ended").replaceAll("_", " ")}`,
    new Date(session.since * 1000).toLocaleTimeString(),
    lasting((session.ended_at ?? at) - session.since),
    session.transport ?? "–",
    session.user,
    ...["turns", "interruptions", "thinkers", "errors"].map((name) => String(session.counts[name] ?? 0)),
  ];
  for (const [n, words] of cells.entries()) setText(row.children[n], words);
  const code = row.children[9].children[0];
  setText(code, `${session.session_id.slice(0, 8)}…`);
  code.setAttribute("title", session.session_id);
  const end = /** @type {HTMLButtonElement} */ (row.children[10].children[0]);
  end.hidden = !live;
  setText(end.children[1], ` call ${session.session_id.slice(0, 8)}`);
}

/** @param {string} words @param {Middle} middle @param {Overview} overview @returns {(string | number | HTMLElement)[]} */
function legRow(words, { p50_ms, p95_ms }, { turns }) {
  const scale = Math.max(1, Math.max(turns.legs.first_sound?.p95_ms ?? 0, turns.legs.answer?.p95_ms ?? 0) || p95_ms);
  const bar = make("span", "bars");
  bar.ariaHidden = "true";
  for (const [name, ms] of /** @type {const} */ ([["p95", p95_ms], ["p50", p50_ms]])) {
    const part = make("span", name);
    part.style.setProperty("width", `${Math.min(100, (ms / scale) * 100)}%`);
    bar.append(part);
  }
  return [words, milliseconds(p50_ms), milliseconds(p95_ms), bar];
}

/** @param {Thinker} thinker @returns {(string | number)[]} */
function thinkerRow({ domain, outcomes, p50_ms, p95_ms }) {
  const counts = ["complete", "failed", "stale", "cancelled"].map((name) => outcomes[name] ?? 0);
  return [domain, ...counts, milliseconds(p50_ms), milliseconds(p95_ms)];
}

/** @param {number} ms */
function milliseconds(ms) {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** @param {number} seconds */
function lasting(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
