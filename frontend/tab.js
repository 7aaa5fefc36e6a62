/** What this tab remembers when the page is loaded anew: which conversation it had. It is gone when the tab is closed. */

const KEY = "conversation";

/** @returns {string | null} */
export function rememberedConversation() {
  return kept(() => sessionStorage.getItem(KEY));
}

/** @param {string | undefined} id undefined: none any more */
export function rememberConversation(id) {
  kept(() => (id ? sessionStorage.setItem(KEY, id) : sessionStorage.removeItem(KEY)));
}

/** Where the browser keeps nothing for us, a page that is loaded anew begins anew. @template Value @param {() => Value} use */
function kept(use) {
  try {
    return use();
  } catch (error) {
    if (error instanceof DOMException) return null;
    throw error;
  }
}
