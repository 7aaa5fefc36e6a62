/** The microphone: opening it, listing the choices, and standing in for it with silence. */

/** The URL switch `?raw=1` turns the browser's own processing off, for measuring. */
const PROCESSED = new URLSearchParams(location.search).get("raw") !== "1";

/**
 * Ask for the microphone. Rejects with the browser's own error; `InsecureContext` where it would not even ask.
 * @param {string} deviceId "" for the system's default
 * @returns {Promise<MediaStream>}
 */
export function openMicrophone(deviceId) {
  if (!navigator.mediaDevices?.getUserMedia) {
    return Promise.reject(Object.assign(new Error("no media devices"), { name: "InsecureContext" }));
  }
  return navigator.mediaDevices.getUserMedia({
    audio: {
      ...(deviceId && { deviceId: { exact: deviceId } }),
      echoCancellation: PROCESSED,
      noiseSuppression: PROCESSED,
      autoGainControl: PROCESSED,
    },
  });
}

/**
 * Steady silence, so that a caller who only types keeps the connection alive.
 * @param {AudioContext} context
 */
export function silentStream(context) {
  const destination = context.createMediaStreamDestination();
  // Nothing at all is sent from a destination without a source.
  const silence = new ConstantSourceNode(context, { offset: 0 });
  silence.connect(destination);
  silence.start();
  return destination.stream;
}
