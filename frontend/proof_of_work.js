/** Proof of work: what a server asks of strangers before their first request that costs it something. */

import { ApiError } from "./api.js";
import { t } from "./texts.js";

/**
 * A number whose hash with the challenge begins with so many zero bits, found in a worker so that the page goes on.
 * @param {{challenge: string, bits: number, expires_in_s: number}} asked
 * @returns {Promise<string>} `challenge:number`
 */
export function proofOf({ challenge, bits, expires_in_s }) {
  const worker = new Worker("/workers/proof_of_work.js", { type: "module" });
  /** @type {Promise<string>} */
  const found = new Promise((resolve, reject) => {
    const fail = () => reject(new ApiError(0, t("failure.proof")));
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = fail;
    setTimeout(fail, expires_in_s * 1000);
  });
  worker.postMessage({ challenge, bits });
  return found.finally(() => worker.terminate());
}
