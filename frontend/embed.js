/**
 * A call on any page: a button that talks to a voice server, and captions.
 *
 *     <script type="module" src="https://voice.example/embed.js" data-token-url="/voice-token"></script>
 *
 * `data-token-url` answers `{"token": …}`, made by the page's own server; left out, the page is the voice server's own.
 * `data-label` words the button, `data-captions="off"` leaves the captions out, `data-position` is `left` or `right`, and
 * `data-target` names the element (a selector) that the button goes into. The colours are CSS variables (`--voice-accent`, …).
 */

const STYLE = `
:host { all: initial; position: fixed; inset-block-end: 24px; inset-inline-end: 24px; z-index: 2147483000; display: block;
  font: 16px/1.4 system-ui, sans-serif; color: var(--voice-ink, #12211d); max-inline-size: min(22rem, calc(100vw - 48px)); }
:host([data-position="left"]) { inset-inline: 24px auto; }
:host([data-inline]) { position: static; max-inline-size: none; }
button { font: inherit; font-weight: 600; color: var(--voice-on-accent, #fff); background: var(--voice-accent, #0b6b57); border: 0;
  border-radius: 999px; padding: 12px 20px; min-block-size: 44px; cursor: pointer; box-shadow: 0 4px 16px rgb(0 0 0 / .2); }
button:focus-visible { outline: 3px solid var(--voice-focus, #0a58ca); outline-offset: 3px; }
button.quiet { background: var(--voice-ground, #fff); color: inherit; box-shadow: inset 0 0 0 2px currentColor; }
.row { display: flex; gap: 8px; justify-content: flex-end; flex-wrap: wrap; margin-block-start: 8px; }
:host([data-position="left"]) .row { justify-content: flex-start; }
.captions { background: var(--voice-ground, #fff); border-radius: 14px; padding: 12px 16px; box-shadow: 0 4px 16px rgb(0 0 0 / .2);
  max-block-size: 40vh; overflow-y: auto; }
.captions:empty, [hidden] { display: none; }
p { margin: 0 0 6px; overflow-wrap: anywhere; }
p.user { color: var(--voice-dim, #4c5a56); }
p.status { font-size: .875rem; color: var(--voice-dim, #4c5a56); background: var(--voice-ground, #fff); border-radius: 14px;
  margin-block: 8px 0; padding: 8px 16px; inline-size: fit-content; margin-inline-start: auto; }
@media (prefers-color-scheme: dark) {
  :host { color: var(--voice-ink, #e9eeee); }
  .captions, p.status, button.quiet { background: var(--voice-ground, #161d21); }
  p.user, p.status { color: var(--voice-dim, #a3b0b6); }
  button:not(.quiet) { color: var(--voice-on-accent, #07261e); background: var(--voice-accent, #74d3bb); }
}`;

/** @typedef {import("./client/voice_client.js").VoiceClient} Client */

/** Captions kept. */
const MOST_LINES = 6;
const TOKEN_WITHIN_MS = 10_000;

/** What the embed says; `data-label` and attributes named `data-text-…` replace it. */
const TEXTS = {
  talk: "Talk to us",
  stop: "Hang up",
  mute: "Mute",
  unmute: "Unmute",
  connecting: "Connecting …",
  listening: "Listening",
  reconnecting: "Reconnecting …",
  sound: "Click once more to hear the answers.",
  microphone: "The microphone is not available. Allow it in the browser, then try again.",
  failed: "The call could not be placed. Please try again.",
};

/** The element `<voice-call>`: one button, a second one to mute, and captions, also for screen readers. */
class VoiceCallElement extends HTMLElement {
  /** @type {Promise<Client> | null} */
  #client = null;
  #live = false;
  #muted = false;
  #texts = TEXTS;
  #captions = make("div", "captions");
  #status = make("p", "status");
  #talk = make("button", "");
  #mute = make("button", "quiet");
  /** The lines of items under way. @type {Map<string, HTMLElement>} */
  #lines = new Map();

  connectedCallback() {
    if (this.shadowRoot) return;
    this.#texts = { ...TEXTS, ...worded(this.dataset) };
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const row = make("div", "row");
    row.append(this.#mute, this.#talk);
    root.append(this.#captions, this.#status, row);
    this.#captions.setAttribute("role", "log");
    this.#captions.setAttribute("aria-label", "Captions");
    this.#captions.tabIndex = 0;
    this.#captions.hidden = this.dataset.captions === "off";
    this.#status.setAttribute("role", "status");
    this.#talk.addEventListener("click", () => void this.#toggle());
    this.#mute.addEventListener("click", () => this.#setMuted(!this.#muted));
    this.#show("");
  }

  disconnectedCallback() {
    if (this.#live) void this.client.then((client) => client.disconnect());
  }

  /** The call's client, for pages that want more than a button; it is loaded at the first click. */
  get client() {
    return (this.#client ??= this.#made());
  }

  async #toggle() {
    if (this.#live) return (await this.client).disconnect();
    this.#live = true;
    this.#show(this.#texts.connecting);
    await this.client.then((client) => client.connect(), () => this.#ended(this.#texts.failed));
  }

  async #made() {
    const { VoiceClient } = await import("./client/voice_client.js");
    const client = new VoiceClient({ url: SERVER, token: this.dataset.tokenUrl ? () => fetchToken(this.dataset.tokenUrl ?? "") : null });
    client.on("connected", () => this.#show(this.#texts.listening));
    client.on("reconnecting", () => this.#show(this.#texts.reconnecting));
    client.on("problem", ({ cause }) => cause === "autoplay-refused" && this.#show(this.#texts.sound));
    client.on("failed", ({ cause, error }) => this.#ended(cause === "microphone" ? this.#texts.microphone : failureText(error) || this.#texts.failed));
    client.on("closed", () => this.#ended(this.#status.dataset.kind === "failure" ? (this.#status.textContent ?? "") : ""));
    client.on("session_ended", () => this.#ended(""));
    client.on("transcript_delta", ({ role, item_id, delta }) => this.#caption(role, item_id, delta, true));
    client.on("transcript", ({ role, item_id, content }) => this.#caption(role, item_id, content, false));
    client.on("transcript_interrupted", ({ item_id, heard }) => this.#caption("assistant", item_id, heard, false));
    return client;
  }

  /** @param {string} role @param {string} id @param {string} words @param {boolean} more */
  #caption(role, id, words, more) {
    let line = this.#lines.get(id);
    if (!line) {
      line = make("p", role);
      this.#lines.set(id, line);
      this.#captions.append(line);
      for (const [oldest, shown] of [...this.#lines].slice(0, -MOST_LINES)) {
        shown.remove();
        this.#lines.delete(oldest);
      }
    }
    line.textContent = more ? (line.textContent ?? "") + words : words;
    this.#captions.scrollTop = this.#captions.scrollHeight;
  }

  /** @param {boolean} muted */
  #setMuted(muted) {
    this.#muted = muted;
    void this.client.then((client) => client.mute(muted));
    this.#show(this.#status.textContent ?? "");
  }

  /** @param {string} words of a failure; "" for none */
  #ended(words) {
    this.#live = this.#muted = false;
    this.#lines.clear();
    this.#show(words, words ? "failure" : "");
  }

  /** @param {string} status @param {string} [kind] */
  #show(status, kind = "") {
    this.#status.textContent = status;
    this.#status.dataset.kind = kind;
    this.#status.hidden = !status;
    this.#talk.textContent = this.#live ? this.#texts.stop : this.#texts.talk;
    this.#mute.hidden = !this.#live;
    this.#mute.textContent = this.#muted ? this.#texts.unmute : this.#texts.mute;
    this.#mute.setAttribute("aria-pressed", String(this.#muted));
  }
}

/** The server that this script came from. */
const SERVER = new URL(import.meta.url).origin;

/** @param {string} tag @param {string} name @returns {HTMLElement} */
function make(tag, name) {
  return Object.assign(document.createElement(tag), { className: name });
}

/** The texts an element brings: `data-label`, `data-text-stop`. @param {DOMStringMap} data */
function worded({ label, ...data }) {
  const texts = Object.entries(data).filter(([name]) => name.startsWith("text"));
  return { ...(label && { talk: label }), ...Object.fromEntries(texts.map(([name, text]) => [name.slice(4).toLowerCase(), text ?? ""])) };
}

/** @param {string} url @returns {Promise<string>} */
async function fetchToken(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TOKEN_WITHIN_MS) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return (await answer.json()).token;
}

/** What the server says of a refusal. @param {unknown} error */
function failureText(error) {
  return error instanceof Error && "status" in error && error.status ? error.message : "";
}

customElements.define("voice-call", VoiceCallElement);

/** Shows the button that a script element asks for; a page that has its own `<voice-call>` needs no attributes. */
function show() {
  const script = [...document.querySelectorAll("script[src]")].find((each) => /** @type {HTMLScriptElement} */ (each).src === import.meta.url);
  if (!(script instanceof HTMLScriptElement) || document.querySelector("voice-call")) return;
  const element = document.createElement("voice-call");
  Object.assign(element.dataset, script.dataset);
  const target = script.dataset.target ? document.querySelector(script.dataset.target) : null;
  if (target) element.dataset.inline = "";
  (target ?? document.body).append(element);
}

show();
