/** Wires the page: one store, one conversation, and the views, each given its own corner of the document. */

import { getConfig } from "./api.js";
import { Conversation } from "./conversation.js";
import { OFFLINE, requestFailure } from "./failures.js";
import { prepareFingerprint } from "./fingerprint.js";
import { Levels } from "./levels.js";
import { watchMicrophones } from "./microphone.js";
import { Store } from "./store.js";
import { showCall } from "./view/call.js";
import { showComposer } from "./view/composer.js";
import { part } from "./view/dom.js";
import { showFailure } from "./view/failure.js";
import { showLevels } from "./view/levels.js";
import { showMicrophones } from "./view/microphones.js";
import { showPanels } from "./view/panels.js";
import { showThinkers } from "./view/thinkers.js";
import { showTranscript } from "./view/transcript.js";
import { showWaterfall } from "./view/waterfall.js";

const store = new Store();
const levels = new Levels(showLevels());
const conversation = new Conversation(store, levels, /** @type {HTMLAudioElement} */ (part("remote-audio")));

showCall(store, conversation);
showMicrophones(store, conversation);
showTranscript(store);
showComposer(store, conversation);
showThinkers(store);
showWaterfall(part("waterfall"), store);
showPanels({ store, conversation });
showFailure(store, waysOn());

prepareFingerprint();
watchMicrophones(() => void conversation.refreshMicrophones());
void conversation.refreshMicrophones();
addEventListener("pagehide", () => conversation.abandon());
addEventListener("offline", () => store.state.phase === "ready" && store.dispatch("page_failed", OFFLINE));
addEventListener("online", () => store.state.failure === OFFLINE && store.dispatch("page_failure_dismissed"));
void configure();

/** What each way out of a failure does. */
function waysOn() {
  return {
    retry: () => void (store.state.config ? conversation.connect() : configure()),
    type: () => void conversation.connect({ silent: true }),
    hear: () => void conversation.hear(),
    dismiss: () => store.dispatch("page_failure_dismissed"),
  };
}

async function configure() {
  try {
    store.dispatch("page_configured", await getConfig());
    store.dispatch("page_failure_dismissed");
  } catch (error) {
    store.dispatch("page_failed", requestFailure(error, Date.now()));
  }
}
