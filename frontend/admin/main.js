/** The operator's page: asks for the figures every two seconds while it is visible, and shows them. */

import { ApiError, request } from "../api.js";
import { part, setText } from "../view/dom.js";
import { showBoard } from "./board.js";

/**
 * The token stays in this tab: never in an address, never in a cookie, gone with the tab.
 * @typedef {import("./board.js").Overview} Overview
 */
const TOKEN = "admin-token";
const EVERY_MS = 2_000;

const gate = { box: part("gate"), title: part("gate-title"), said: part("gate-said"), form: part("gate-form") };
const input = /** @type {HTMLInputElement} */ (part("token"));
const draw = showBoard(part("board"), endSession);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

gate.form.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, input.value);
  input.value = "";
  void refresh();
});
part("sign-out").addEventListener("click", () => {
  sessionStorage.removeItem(TOKEN);
  void refresh();
});
document.addEventListener("visibilitychange", () => document.hidden || void refresh());
void refresh();

async function refresh() {
  clearTimeout(timer);
  try {
    opened(await request("GET", "/api/admin/overview", undefined, token()));
  } catch (error) {
    refused(error);
  }
  // A hidden tab costs nothing, and a page that waits for the token does not poll.
  const waits = document.hidden || (!part("gate").hidden && !gate.form.hidden);
  if (!waits) timer = setTimeout(refresh, EVERY_MS);
}

function token() {
  return sessionStorage.getItem(TOKEN) ?? undefined;
}

/** @param {Overview} overview */
function opened(overview) {
  show(true);
  draw(overview);
  setText(part("freshness"), `As of ${new Date(overview.at * 1000).toLocaleTimeString()}`);
}

/** @param {unknown} error */
function refused(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) return locked(error);
  if (error.status === 404) return closed(error.message, error.hint);
  if (error.status === 429) return locked(error, `Try again in ${error.retryAfterS} s.`);
  const away = error.status === 0 ? "The server is not responding." : error.message;
  if (gate.box.hidden) setText(part("freshness"), `${away} Trying again…`);
  else closed(away, "Trying again…");
}

/** @param {ApiError} error @param {string} [hint] */
function locked(error, hint = error.hint) {
  const tried = token() !== undefined;
  sessionStorage.removeItem(TOKEN);
  show(false);
  setText(gate.title, tried ? error.message : "Sign in as the operator");
  setText(gate.said, hint);
  gate.form.hidden = false;
  input.focus();
}

/** @param {string} title @param {string} said */
function closed(title, said) {
  show(false);
  setText(gate.title, title);
  setText(gate.said, said);
  gate.form.hidden = true;
}

/** @param {boolean} open */
function show(open) {
  gate.box.hidden = open;
  part("board").hidden = !open;
  part("sign-out").hidden = !open;
  if (!open) setText(part("freshness"), "");
}

/** @param {string} id */
async function endSession(id) {
  try {
    await request("DELETE", `/api/admin/sessions/${encodeURIComponent(id)}`, undefined, token());
  } catch (error) {
    refused(error);
  }
  await refresh();
}
