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
 * The microphones there are; names are known only once one was allowed.
 * @returns {Promise<{id: string, label: string}[]>}
 */
export async function listMicrophones() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return devices
    .filter((device) => device.kind === "audioinput" && device.deviceId && device.deviceId !== "default")
    .map((device) => ({ id: device.deviceId, label: device.label || "Microphone" }));
}

/** Calls `changed` whenever a device is plugged in or out. @param {() => void} changed */
export function watchMicrophones(changed) {
  navigator.mediaDevices?.addEventListener?.("devicechange", changed);
}

/**
 * Steady silence, so that a caller who only types still keeps the line alive.
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
