/** The conversation of this tab, remembered across reloads and forgotten when the tab is closed. */

const KEY = "conversation";

/** @returns {string | null} */
export function rememberedConversation() {
  return inStorage(() => sessionStorage.getItem(KEY));
}

/** @param {string | undefined} id undefined: there is none now */
export function rememberConversation(id) {
  inStorage(() => (id ? sessionStorage.setItem(KEY, id) : sessionStorage.removeItem(KEY)));
}

/** Where the browser allows no storage, a reloaded page begins a new conversation. @template Value @param {() => Value} use */
function inStorage(use) {
  try {
    return use();
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
