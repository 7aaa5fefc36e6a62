/** What this browser remembers of the user's choices. Where storage is forbidden, a choice lasts as long as the page. */

/** @param {string} name @param {string} value "" forgets it */
export function remember(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

/** @param {string} name */
export function remembered(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return "";
  }
}
