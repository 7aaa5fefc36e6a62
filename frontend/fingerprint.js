/**
 * A hint, never a proof, of which browser this is: SHA-256 over what it reveals about itself. The server may use it to
 * recognise a returning browser in demonstrations. It is computed only where the server asks for it and the user has
 * agreed. Where the browser refuses any of it, the hint is left out.
 */

const WAIT_MS = 150;

/** @type {Promise<string | undefined> | null} */
let computed = null;

/** Begin when the browser has nothing better to do. */
export function prepareFingerprint() {
  const whenIdle = globalThis.requestIdleCallback ?? ((/** @type {() => void} */ run) => setTimeout(run, 200));
  computed = new Promise((resolve) => whenIdle(() => resolve(compute().catch(() => undefined))));
}

/** The user has withdrawn their consent. */
export function dropFingerprint() {
  computed = null;
}

/** The hint if it is ready by now, else nothing: a call never waits for it. @returns {Promise<string | undefined>} */
export function fingerprintIfReady() {
  if (!computed) return Promise.resolve(undefined);
  const soon = new Promise((resolve) => setTimeout(resolve, WAIT_MS, undefined));
  return Promise.race([computed, soon]);
}

/** @returns {Promise<string>} 64 hexadecimal digits */
async function compute() {
  const traits = [
    drawing(),
    renderer(),
    navigator.platform,
    Intl.DateTimeFormat().resolvedOptions().timeZone,
    `${screen.width}x${screen.height}x${screen.colorDepth}`,
    navigator.language,
    String(navigator.hardwareConcurrency),
  ];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(traits.join("\n")));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An image of letters and curves as this machine draws them. */
function drawing() {
  const canvas = document.createElement("canvas");
  canvas.width = 240;
  canvas.height = 40;
  const pen = canvas.getContext("2d");
  if (!pen) return "";
  pen.font = "18px serif";
  pen.fillStyle = "#3a7";
  pen.fillText("Responder & Thinker ✓", 4, 24);
  pen.strokeStyle = "#a37";
  pen.arc(210, 20, 13, 0, 5);
  pen.stroke();
  return canvas.toDataURL();
}

/** The name of the graphics hardware. */
function renderer() {
  const gl = document.createElement("canvas").getContext("webgl");
  if (!gl) return "";
  const plain = String(gl.getParameter(gl.RENDERER));
  // Firefox answers here already, and warns about the extension; others hide behind a family name.
  const extension = plain.startsWith("WebKit") ? gl.getExtension("WEBGL_debug_renderer_info") : null;
  const name = extension ? String(gl.getParameter(extension.UNMASKED_RENDERER_WEBGL)) : plain;
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
