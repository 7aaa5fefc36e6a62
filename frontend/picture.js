/** A picture made ready to be shown to the model: small, and drawn again, so that nothing of its file's metadata is left. */

/** Pixels of the longer side that are sent; the model sees no more. */
const LONGEST_PX = 1280;
/** Bytes that are sent at most; the server takes more. */
const MOST_BYTES = 400 * 1024;
/** Bytes of a file that are read at most. */
const FILE_MOST_BYTES = 40 * 1024 * 1024;
/** How good a JPEG is made, one after the other until it is small enough. */
const QUALITIES = [0.85, 0.7, 0.5];

/** The first picture among files that were dropped, pasted or chosen. @param {Iterable<File> | null | undefined} files */
export function pictureIn(files) {
  return [...(files ?? [])].find(({ type }) => type.startsWith("image/"));
}

/** Resolves to the picture as a data URL; rejects where it cannot be read. @param {File} file @returns {Promise<string>} */
export async function preparePicture(file) {
  if (file.size > FILE_MOST_BYTES) throw new Error("the file is too large");
  const bitmap = await createImageBitmap(file);
  try {
    for (let longest = LONGEST_PX; longest >= LONGEST_PX / 4; longest /= 2) {
      const canvas = drawn(bitmap, Math.min(1, longest / Math.max(bitmap.width, bitmap.height)));
      for (const quality of QUALITIES) {
        const made = await encoded(canvas, quality);
        if (made.size <= MOST_BYTES) return await dataUrl(made);
      }
    }
  } finally {
    bitmap.close();
  }
  throw new Error("the picture cannot be made small enough");
}

/** @param {ImageBitmap} bitmap @param {number} scale */
function drawn(bitmap, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("nothing can be drawn");
  context.fillStyle = "white"; // a JPEG has no transparency
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** @param {HTMLCanvasElement} canvas @param {number} quality @returns {Promise<Blob>} */
function encoded(canvas, quality) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((made) => (made ? resolve(made) : reject(new Error("nothing was drawn"))), "image/jpeg", quality);
  });
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
