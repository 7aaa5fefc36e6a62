/** The recording of the call under way, pure: what its caller has answered, and what the server reports. */

/**
 * `asked` the question stands, since the caller wishes it · `given` for this call, until they or the server end it ·
 * `refused` they do not wish it, or no longer
 * @typedef {object} Recording
 * @property {"unasked" | "asked" | "given" | "refused"} consent
 * @property {boolean} on the call is being recorded now
 * @property {string} id the newest recording of this call, or ""
 * @property {string} reason why it ended, or ""
 */

/** @type {Recording} */
export const NOT_RECORDED = Object.freeze({ consent: "unasked", on: false, id: "", reason: "" });

/**
 * @param {Recording} recording
 * @param {import("../store.js").Action} action
 * @returns {Recording}
 */
export function recordingAfter(recording, { type, data }) {
  switch (type) {
    case "page_recording_asked":
      return { ...recording, consent: "asked" };
    case "page_recording_answered":
      return { ...recording, consent: data.agreed ? "given" : "refused", reason: "" };
    case "recording":
      if (data.on) return { consent: "given", on: true, id: data.recording_id, reason: "" };
      return { ...recording, on: false, reason: data.reason, consent: data.reason === "call_ended" ? recording.consent : "refused" };
    case "page_closed":
    case "page_reconnecting":
    case "session_ended":
      return recording.on ? { ...recording, on: false } : recording;
    default:
      return recording;
  }
}
