/** The foot of the memory panel: download everything, or erase everything after a second question. */

import { t } from "../texts.js";
import { button, make, named } from "./dom.js";

/** @param {import("../memory.js").Memory} memory @param {() => void} onErased */
export function eraseFooter(memory, onErased) {
  const take = make("a", "button quiet", t("memory.download"));
  take.href = "/api/me/export";
  take.download = "about-me.json";
  named(take, "memory-export");
  const erase = named(button(t("memory.erase"), "quiet danger"), "memory-erase");
  const foot = make("div", "memory-foot");
  foot.append(take, erase);

  const really = named(button(t("memory.erase_now"), "danger filled"), "memory-erase-now");
  const keep = named(button(t("memory.keep"), "quiet"), "memory-keep");
  const confirm = named(make("div", "memory-confirm"), "memory-confirm");
  confirm.role = "alertdialog";
  confirm.ariaLabel = t("memory.erase_question");
  confirm.hidden = true;
  const ways = make("div", "memory-foot");
  ways.append(really, keep);
  confirm.append(make("p", "", t("memory.erase_means")), ways);
  const leave = () => {
    confirm.hidden = true;
    erase.focus();
  };
  erase.addEventListener("click", () => {
    confirm.hidden = false;
    confirm.scrollIntoView({ block: "nearest" });
    keep.focus();
  });
  keep.addEventListener("click", leave);
  really.addEventListener("click", async () => {
    if (await memory.erase(onErased)) leave();
  });
  return { foot, confirm };
}
