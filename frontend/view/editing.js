/** A form field for a stored value that may also change elsewhere at any moment. */

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Field */

/**
 * Show a stored value in a field and save the user's edits. The field belongs to the user while they type, while their
 * change is being saved and after it was refused; at any other time it shows the stored value.
 * @param {Field} field
 * @param {(words: string) => Promise<boolean>} save resolves to whether the value was accepted
 * @returns {(value: string) => void} shows a new stored value
 */
export function editable(field, save) {
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
  return (value) => {
    stored = value;
    const typing = document.activeElement === field && field.value !== shown;
    if (!theirs && !typing) field.value = shown = value;
  };
}
