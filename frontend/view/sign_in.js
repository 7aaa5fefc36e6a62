/** Signing in and out, where the server offers it. */

import { getSignIn, postSignOut } from "../api.js";
import { part } from "./dom.js";

/** Show the one that fits; a server that does not answer offers neither. */
export async function showSignIn() {
  const { offered, signed_in } = await getSignIn().catch(() => ({ offered: false, signed_in: false }));
  part("sign-in").hidden = !offered || signed_in;
  part("sign-out").hidden = !signed_in;
  part("sign-out").addEventListener("click", async () => {
    await postSignOut();
    location.reload();
  });
}
