/** Which microphones and speakers there are, and how one of them is made to play. */

/** @typedef {{id: string, label: string}} Device */

/** True if this browser lets a page choose its speaker. */
export const SPEAKERS_CHOOSABLE = "HTMLMediaElement" in globalThis && "setSinkId" in HTMLMediaElement.prototype;

/**
 * Names are known only once a microphone was allowed, and empty before; devices without an id are left out.
 * @returns {Promise<{microphones: Device[], speakers: Device[]}>}
 */
export async function listDevices() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return { microphones: of("audioinput", devices), speakers: of("audiooutput", devices) };
}

/** Calls `changed` whenever a device is plugged in or out. @param {() => void} changed */
export function watchDevices(changed) {
  navigator.mediaDevices?.addEventListener?.("devicechange", changed);
}

/** @param {MediaDeviceKind} kind @param {MediaDeviceInfo[]} devices @returns {Device[]} */
function of(kind, devices) {
  return devices
    .filter((device) => device.kind === kind && device.deviceId && device.deviceId !== "default")
    .map((device) => ({ id: device.deviceId, label: device.label }));
}
