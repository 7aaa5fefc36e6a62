/** What the system knows of the user, in a dialog. */

import { make } from "./dom.js";

/** @type {import("./panels.js").ShowPanel} */
export function show(place) {
  place.append(make("h2", "", "What is known of you"));
  return {};
}
