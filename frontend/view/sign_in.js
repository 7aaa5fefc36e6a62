/** Signing in and out, where the server offers it. */

import { getSignIn, postSignIn, postSignOut } from "../api.js";
import { t } from "../texts.js";
import { button, make, named, part } from "./dom.js";

/** Show the one that fits; a server that does not answer offers neither. */
export async function showSignIn() {
  const { offered, signed_in } = await getSignIn().catch(() => ({ offered: false, signed_in: false }));
  part("sign-in").hidden = !offered || signed_in;
  part("sign-out").hidden = !signed_in;
  part("sign-in").addEventListener("click", (event) => {
    event.preventDefault();
    void signIn();
  });
  part("sign-out").addEventListener("click", async () => {
    const { location: there } = await postSignOut();
    if (there) location.assign(there);
    else location.reload();
  });
}

/** Sign in. Whoever was here before may have left something: only the user knows if it is theirs. */
async function signIn() {
  const { left } = await getSignIn().catch(() => ({ left: false }));
  if (left) ask();
  else location.assign("/auth/login");
}

/** Ask whether what the visitor left is the user's, and sign in. */
function ask() {
  const dialog = named(make("dialog", "sheet"), "take-along");
  dialog.ariaLabel = t("sign_in.question");
  const take = named(button(t("sign_in.take"), "primary"), "take-along-yes");
  const leave = named(button(t("sign_in.leave"), "quiet"), "take-along-no");
  const ways = make("div", "memory-foot");
  ways.append(take, leave);
  dialog.append(make("h2", "sheet-title", t("sign_in.question")), make("p", "", t("sign_in.means")), ways);
  take.addEventListener("click", async () => location.assign((await postSignIn()).location));
  leave.addEventListener("click", () => location.assign("/auth/login"));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
