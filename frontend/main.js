/** Wires the page: one store, one conversation, and the views, each given its own corner of the document. */

import { getConfig } from "./api.js";
import { Conversation } from "./conversation.js";
import { Errands } from "./errands.js";
import { OFFLINE, requestFailure } from "./failures.js";
import { prepareFingerprint } from "./fingerprint.js";
import { Levels } from "./levels.js";
import { watchDevices } from "./devices.js";
import { News } from "./news.js";
import { Store } from "./store.js";
import { showAnnouncements } from "./view/announcer.js";
import { showCall } from "./view/call.js";
import { showComposer } from "./view/composer.js";
import { showDevices } from "./view/devices.js";
import { part } from "./view/dom.js";
import { showErrands } from "./view/errands.js";
import { showExporting } from "./view/exporting.js";
import { showFailure } from "./view/failure.js";
import { showLevels } from "./view/levels.js";
import { showOrb } from "./view/orb.js";
import { showPanels } from "./view/panels.js";
import { showReminders } from "./view/reminders.js";
import { showSummary } from "./view/summary.js";
import { heedTalkKey } from "./view/talk_key.js";
import { showThinkers } from "./view/thinkers.js";
import { showTranscript } from "./view/transcript.js";

const store = new Store();
const meters = showLevels();
const orb = showOrb(store);
const levels = new Levels((shown) => {
  meters(shown);
  orb(shown);
});
const conversation = new Conversation(store, levels, /** @type {HTMLAudioElement} */ (part("remote-audio")));

showCall(store, conversation);
showDevices(store, conversation);
heedTalkKey(store, conversation);
showTranscript(store);
showExporting(store);
showSummary(store);
showAnnouncements(store);
showComposer(store, conversation);
showThinkers(store, conversation);
const errands = new Errands(store);
showErrands(store, (id) => void errands.cancel(id));
const news = new News(store);
showReminders(store, (id) => void news.cancel(id));
showPanels({ store, conversation });
showFailure(store, waysOn());

prepareFingerprint();
watchDevices(() => void conversation.refreshDevices());
void conversation.refreshDevices();
addEventListener("pagehide", () => conversation.abandon());
addEventListener("offline", () => store.state.phase === "ready" && store.dispatch("page_failed", OFFLINE));
addEventListener("online", () => store.state.failure === OFFLINE && store.dispatch("page_failure_dismissed"));
void configure().then(showRest);

/** What shows nothing before the first turn is not waited for. */
async function showRest() {
  const { showWaterfall } = await import("./view/waterfall.js");
  showWaterfall(part("waterfall"), store);
}

/** What each way out of a failure does. */
function waysOn() {
  return {
    retry: () => void (store.state.config ? conversation.connect() : configure()),
    type: () => void conversation.connect({ silent: true }),
    hear: () => void conversation.hear(),
    stop: () => void conversation.disconnect(),
    dismiss: () => store.dispatch("page_failure_dismissed"),
  };
}

async function configure() {
  try {
    const [config] = await Promise.all([getConfig(), conversation.comeBack()]);
    store.dispatch("page_configured", config);
    store.dispatch("page_failure_dismissed");
  } catch (error) {
    store.dispatch("page_failed", requestFailure(error, Date.now()));
  }
}
