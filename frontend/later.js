/**
 * Builds the parts that show nothing before a call, once the page can be used: the first paint does not wait for their
 * modules and styles.
 */

import { BackgroundTasks } from "./background_tasks.js";
import { followKeptSettings } from "./kept_settings.js";
import { UserEvents } from "./user_events.js";
import { showAnnouncements } from "./view/announcer.js";
import { showBackground } from "./view/background.js";
import { showConfirmations } from "./view/confirmations.js";
import { part } from "./view/dom.js";
import { showExporting } from "./view/exporting.js";
import { showPictures } from "./view/pictures.js";
import { showRecording } from "./view/recording.js";
import { showReminders } from "./view/reminders.js";
import { showSharing } from "./view/sharing.js";
import { showSignIn } from "./view/sign_in.js";
import { showSummary } from "./view/summary.js";
import { showWaterfall } from "./view/waterfall.js";

const STYLES = ["waterfall", "memory", "past", "settings", "drawer", "recordings", "sharing"];

/** @param {import("./store.js").Store} store @param {import("./conversation.js").Conversation} conversation */
export function showRest(store, conversation) {
  document.head.append(...STYLES.map(styleSheet));
  showWaterfall(part("waterfall"), store);
  showExporting(store);
  showSummary(store);
  showPictures(store, conversation);
  showAnnouncements(store);
  const tasks = new BackgroundTasks(store);
  showBackground(store, (id) => void tasks.cancel(id));
  const userEvents = new UserEvents(store);
  showReminders(store, (id) => void userEvents.cancel(id));
  showConfirmations(store, (id, agreed) => void userEvents.answer(id, agreed).then((done) => done && conversation.type("Yes.")));
  showRecording(store, conversation, (id) => void import("./view/recordings.js").then(({ openRecordings }) => openRecordings(id)));
  showSharing(store, conversation);
  followKeptSettings(store);
  void showSignIn();
}

/** @param {string} name */
function styleSheet(name) {
  return Object.assign(document.createElement("link"), { rel: "stylesheet", href: `styles/${name}.css` });
}
