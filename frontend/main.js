/** Builds the page: one store, one conversation, and the views, each with its own part of the document. */

import { getConfig } from "./api.js";
import { CallAudio } from "./call_audio.js";
import { Conversation } from "./conversation.js";
import { BackgroundTasks } from "./background_tasks.js";
import { OFFLINE, requestFailure } from "./failures.js";
import { Levels } from "./levels.js";
import { watchDevices } from "./devices.js";
import { UserEvents } from "./user_events.js";
import { Store } from "./store.js";
import { followWarmUp } from "./warm_up.js";
import { showAnnouncements } from "./view/announcer.js";
import { showCall } from "./view/call.js";
import { showComposer } from "./view/composer.js";
import { showConfirmations } from "./view/confirmations.js";
import { showDevices } from "./view/devices.js";
import { part } from "./view/dom.js";
import { showBackground } from "./view/background.js";
import { showExporting } from "./view/exporting.js";
import { showFailure } from "./view/failure.js";
import { showLevels } from "./view/levels.js";
import { showOrb } from "./view/orb.js";
import { showPanels } from "./view/panels.js";
import { showReminders } from "./view/reminders.js";
import { showSummary } from "./view/summary.js";
import { listenForTalkKey } from "./view/talk_key.js";
import { showThinkers } from "./view/thinkers.js";
import { showTranscript } from "./view/transcript.js";
import { showSignIn } from "./view/sign_in.js";

const store = new Store();
const meters = showLevels();
const orb = showOrb(store);
const levels = new Levels((shown) => {
  meters(shown);
  orb(shown);
});
const audio = new CallAudio(store, levels, /** @type {HTMLAudioElement} */ (part("remote-audio")));
const conversation = new Conversation(store, audio);

showCall(store, conversation, audio);
showDevices(store, audio, conversation);
listenForTalkKey(store, audio);
showTranscript(store);
showExporting(store);
showSummary(store);
showAnnouncements(store);
showComposer(store, conversation);
showThinkers(store, conversation);
const tasks = new BackgroundTasks(store);
showBackground(store, (id) => void tasks.cancel(id));
const userEvents = new UserEvents(store);
showReminders(store, (id) => void userEvents.cancel(id));
showConfirmations(store, (id, agreed) => void userEvents.answer(id, agreed).then((done) => done && conversation.type("Yes.")));
showPanels({ store, conversation });
showFailure(store, waysOn());

watchDevices(() => void audio.refreshDevices());
void audio.refreshDevices();
addEventListener("pagehide", () => conversation.abandon());
addEventListener("offline", () => store.state.phase === "ready" && store.dispatch("page_failed", OFFLINE));
addEventListener("online", () => store.state.failure === OFFLINE && store.dispatch("page_failure_dismissed"));
void configure().then(showRest);
void showSignIn();

/** Load the parts that show nothing before the first turn. */
async function showRest() {
  const { showWaterfall } = await import("./view/waterfall.js");
  showWaterfall(part("waterfall"), store);
}

/** The action of each button on a failure. */
function waysOn() {
  return {
    retry: () => void (store.state.config ? conversation.connect() : configure()),
    type: () => void conversation.connect({ silent: true }),
    sound: () => void audio.allowSound(),
    stop: () => void conversation.disconnect(),
    dismiss: () => store.dispatch("page_failure_dismissed"),
  };
}

async function configure() {
  try {
    const [config] = await Promise.all([getConfig(), conversation.comeBack()]);
    store.dispatch("page_configured", config);
    store.dispatch("page_failure_dismissed");
    void followWarmUp(store);
  } catch (error) {
    store.dispatch("page_failed", requestFailure(error, Date.now()));
  }
}
