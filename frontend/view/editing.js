/** A field that shows what is known and lets it be changed, while what is known may change elsewhere at any moment. */

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Field */

/**
 * What stands in `field` is the user's while they type, while their change is on its way, and as long as it was refused;
 * at any other time it is what is known.
 * @param {Field} field
 * @param {(words: string) => Promise<boolean>} save resolves to whether it was taken
 * @returns {(known: string) => void} to be told what is known
 */
export function edited(field, save) {
  let stored = "";
  let shown = "";
  let theirs = false;
  field.addEventListener("change", async () => {
    shown = field.value;
    theirs = true;
    const words = shown.trim();
    theirs = words !== stored && !(await save(words));
    field.ariaInvalid = String(theirs);
  });
  return (known) => {
    stored = known;
    const typing = document.activeElement === field && field.value !== shown;
    if (!theirs && !typing) field.value = shown = known;
  };
}
