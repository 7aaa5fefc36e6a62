/** One conversation from the page's side: its calls, what is typed into it, and the way back to it after a reload. */

import { ApiError, getConversation, getTranscript, postThinker } from "./api.js";
import { requestFailure } from "./failures.js";
import { isDialling, isLive } from "./store.js";
import { rememberConversation, rememberedConversation } from "./tab.js";

/** @typedef {import("./client/server.js").Session} Session */

export class Conversation {
  /** @param {import("./store.js").Store} store @param {import("./client/voice_client.js").VoiceClient} client */
  constructor(store, client) {
    this.store = store;
    this.client = client;
    client.on("transcript", () => rememberConversation(client.conversation));
    client.on("gap", (_, { session, prefix }) => void this.#catchUp(session, prefix));
  }

  /** Place a call, which continues what was said last. @param {{silent?: boolean}} [options] silent: the caller only types */
  connect({ silent = false } = {}) {
    return this.client.connect({ silent });
  }

  /** Hang up, at any moment. */
  disconnect() {
    return this.client.disconnect();
  }

  /** Leave what was said, and the call if there is one: the next begins a new conversation. */
  startAnew() {
    this.client.call.leaveConversation();
    rememberConversation(undefined);
    this.store.dispatch("page_new_conversation");
  }

  /** Leave what was said here, and show an earlier conversation, which the next call continues. @param {string} id */
  async goBackTo(id) {
    const { messages } = await getConversation(id);
    this.startAnew();
    this.#recall(id, messages);
    rememberConversation(id);
  }

  /** After a reload, continue the conversation this tab had, if the server still has it. */
  async comeBack() {
    const id = rememberedConversation();
    if (!id || this.client.conversation) return;
    try {
      const { messages } = await getConversation(id);
      this.#recall(id, messages);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 404) rememberConversation(undefined);
    }
  }

  /**
   * Type into the conversation; where none is under way, one begins, without a microphone. Resolves to whether the server
   * accepted it.
   * @param {string} text
   */
  async type(text) {
    if (!isLive(this.store.state) && !(await this.#begun())) return false;
    return this.session !== null && this.#accepted(this.client.type(text));
  }

  /** Show the model a picture, with typed words or without, as `type` does. @param {string} picture @param {string} text */
  async show(picture, text) {
    if (!isLive(this.store.state) && !(await this.#begun())) return false;
    return this.session !== null && this.#accepted(this.client.show(picture, text));
  }

  /** Stop a Thinker, or have its late answer spoken; once, however often it is pressed before the page is drawn. @param {string} id @param {"cancel" | "say"} asked */
  async askThinker(id, asked) {
    const { session } = this;
    const isAsked = this.store.state.thinkers.some((thinker) => thinker.id === id && thinker.asked);
    if (!session || isAsked) return;
    this.store.dispatch("page_thinker_asked", { id, asked });
    if (!(await this.#accepted(postThinker(session, id, asked)))) {
      this.store.dispatch("page_thinker_asked", { id, asked: "" });
    }
  }

  /** Whether the caller's voice may interrupt, in the call under way and the next. Resolves to whether that could be set. @param {boolean} allowed */
  async allowInterruptions(allowed) {
    if (this.session && isLive(this.store.state)) return this.#accepted(this.client.allowInterruptions(allowed));
    this.store.dispatch("page_interruptions", { allowed });
    return true;
  }

  /** The connection's own statistics, where its transport has any. @returns {Promise<RTCStatsReport | null>} */
  async statistics() {
    return this.client.call.connection?.statistics() ?? null;
  }

  /** The session of the call under way. @returns {Session | null} */
  get session() {
    return this.client.session;
  }

  /** Begin a call to type into, unless one is being made. Resolves to whether there is one in the end. @returns {Promise<boolean>} */
  #begun() {
    if (!isDialling(this.store.state)) void this.connect({ silent: true });
    return new Promise((resolve) => {
      const stop = this.store.subscribe((state) => {
        if (isDialling(state)) return;
        resolve(isLive(state));
        queueMicrotask(() => stop());
      });
    });
  }

  /** @param {string} id @param {any[]} messages */
  #recall(id, messages) {
    this.client.call.continueConversation(id);
    this.store.dispatch("page_conversation_recalled", { messages });
  }

  /** Some events were missed: read the transcript as the server has it. @param {Session} session @param {string} prefix */
  async #catchUp(session, prefix) {
    const record = await getTranscript(session).catch(() => null);
    if (!record) return;
    const messages = record.messages.map((message) => ({ ...message, item_id: prefix + message.item_id }));
    this.store.dispatch("page_transcript_loaded", { messages, prefix });
  }

  /** Resolve to whether the server accepted a request; a refusal is shown. @param {Promise<unknown>} request */
  async #accepted(request) {
    try {
      await request;
      return true;
    } catch (error) {
      this.store.dispatch("page_failed", { ...requestFailure(error, Date.now()), ways: ["dismiss"] });
      return false;
    }
  }
}
