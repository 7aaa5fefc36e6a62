/** Builds the page: one store, one conversation, and the views, each with its own part of the document. */

import { VoiceClient } from "./client/voice_client.js";
import { Conversation } from "./conversation.js";
import { OFFLINE, requestFailure } from "./failures.js";
import { Levels } from "./levels.js";
import { fingerprintIfReady } from "./fingerprint.js";
import { followCall } from "./page_call.js";
import { Store } from "./store.js";
import { loaded } from "./texts.js";
import { followWarmUp } from "./warm_up.js";
import { showCall } from "./view/call.js";
import { showComposer } from "./view/composer.js";
import { showDevices } from "./view/devices.js";
import { part } from "./view/dom.js";
import { showFailure } from "./view/failure.js";
import { showLevels } from "./view/levels.js";
import { showOrb } from "./view/orb.js";
import { showPanels } from "./view/panels.js";
import { showStaticTexts } from "./view/static_texts.js";
import { listenForTalkKey } from "./view/talk_key.js";
import { showThinkers } from "./view/thinkers.js";
import { showTranscript } from "./view/transcript.js";

await loaded;
showStaticTexts();
const store = new Store();
const meters = showLevels();
const orb = showOrb(store);
const levels = new Levels((shown) => {
  meters(shown);
  orb(shown);
});
const address = new URLSearchParams(location.search);
const client = new VoiceClient({
  audio: /** @type {HTMLAudioElement} */ (part("remote-audio")),
  // `?transport=websocket` connects without UDP from the start; `?raw=1` turns the browser's processing off, to measure.
  transport: address.get("transport") === "websocket" ? "websocket" : "webrtc",
  processed: address.get("raw") !== "1",
  opening: async () => {
    const { chosen, allowed } = store.state.interruptions;
    return { fingerprint: await fingerprintIfReady(), ...(chosen && { interruptions: allowed }) };
  },
});
const { audio } = client;
followCall(client, store);
client.on("stream", ({ direction, stream, context }) => (stream ? levels.tap(context, direction, stream) : levels.stop()));
const conversation = new Conversation(store, client);

showCall(store, conversation, audio);
showDevices(store, audio);
listenForTalkKey(store, audio);
showTranscript(store);
showComposer(store, conversation);
showThinkers(store, conversation);
showPanels({ store, conversation });
showFailure(store, waysOn());
for (const wired of document.querySelectorAll("[inert]")) wired.removeAttribute("inert");

void audio.refreshDevices();
addEventListener("offline", () => store.state.phase === "ready" && store.dispatch("page_failed", OFFLINE));
addEventListener("online", () => store.state.failure === OFFLINE && store.dispatch("page_failure_dismissed"));
void configure().then(showRest);

/** Load the parts that show nothing before a call. */
async function showRest() {
  try {
    (await import("./later.js")).showRest(store, conversation);
  } catch (error) {
    store.dispatch("page_failed", requestFailure(error, Date.now()));
  }
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
    const [config] = await Promise.all([client.config, conversation.comeBack()]);
    store.dispatch("page_configured", config);
    store.dispatch("page_failure_dismissed");
    void followWarmUp(store);
  } catch (error) {
    store.dispatch("page_failed", requestFailure(error, Date.now()));
  }
}
