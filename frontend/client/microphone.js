/** The microphone: opening it, listing the choices, and standing in for it with silence. */

/**
 * Ask for the microphone. Rejects with the browser's own error; `InsecureContext` where it would not even ask.
 * @param {string} deviceId "" for the system's default
 * @param {boolean} processed by the browser's echo canceller, noise suppressor and gain control
 * @returns {Promise<MediaStream>}
 */
export function openMicrophone(deviceId, processed) {
  if (!navigator.mediaDevices?.getUserMedia) {
    return Promise.reject(Object.assign(new Error("no media devices"), { name: "InsecureContext" }));
  }
  return navigator.mediaDevices.getUserMedia({
    audio: {
      ...(deviceId && { deviceId: { exact: deviceId } }),
      echoCancellation: processed,
      noiseSuppression: processed,
      autoGainControl: processed,
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
