/** The foot of the memory panel: download everything, or erase everything after a second question. */

import { button, make, named } from "./dom.js";

/** @param {import("../memory.js").Memory} memory */
export function eraseFooter(memory) {
  const take = make("a", "button quiet", "Download everything");
  take.href = "/api/me/export";
  take.download = "what-is-known-of-me.json";
  named(take, "memory-export");
  const erase = named(button("Erase everything…", "quiet danger"), "memory-erase");
  const foot = make("div", "memory-foot");
  foot.append(take, erase);

  const really = named(button("Erase everything now", "danger filled"), "memory-erase-now");
  const keep = named(button("Keep it", "quiet"), "memory-keep");
  const confirm = named(make("div", "memory-confirm"), "memory-confirm");
  confirm.role = "alertdialog";
  confirm.ariaLabel = "Erase everything?";
  confirm.hidden = true;
  const ways = make("div", "memory-foot");
  ways.append(really, keep);
  confirm.append(make("p", "", "This ends your call and erases everything about you: preferences, facts, instructions, summary, memories, conversations, and your calendar. It cannot be undone."), ways);
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
    if (await memory.erase()) leave();
  });
  return { foot, confirm };
}
