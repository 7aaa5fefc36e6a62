/** Small helpers of the views: finding the page's parts, making elements, changing text only when it differs. */

/** The part of the page with this `data-testid`; it must be there. @param {string} name @returns {HTMLElement} */
export function part(name) {
  const found = document.querySelector(`[data-testid="${name}"]`);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no part named ${name}`);
  return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {string} className @param {string} [text]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Make `list`'s children follow `items`: known ones are kept and updated when their item changed, new ones made,
 * gone ones removed. Returns nothing; touches only what differs.
 * @template Item
 * @param {Element} list
 * @param {Map<string | number, {item: Item, node: HTMLElement}>} shown what stands there now, by key
 * @param {readonly Item[]} items in the order wanted
 * @param {(item: Item) => string | number} keyOf
 * @param {() => HTMLElement} create
 * @param {(node: HTMLElement, item: Item) => void} update
 */
export function follow(list, shown, items, keyOf, create, update) {
  const wanted = new Set(items.map(keyOf));
  for (const [key, { node }] of shown) {
    if (wanted.has(key)) continue;
    node.remove();
    shown.delete(key);
  }
  /** @type {Element | null} */
  let place = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const known = shown.get(key);
    const node = known?.node ?? create();
    if (known?.item !== item) update(node, item);
    shown.set(key, { item, node });
    if (node === place) place = place.nextElementSibling;
    else list.insertBefore(node, place);
  }
}

/** Make a button of type `button`. @param {string} words @param {string} className */
export function button(words, className) {
  const made = make("button", className, words);
  made.type = "button";
  return made;
}

/** One of the page's icons. @param {string} name */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.classList.add("icon");
  svg.appendChild(document.createElementNS(svg.namespaceURI, "use")).setAttribute("href", `#icon-${name}`);
  return svg;
}

/** Give an element its test id. @template {HTMLElement} Element @param {Element} element @param {string} name @returns {Element} */
export function named(element, name) {
  element.dataset.testid = name;
  return element;
}

/** Redraw what no style sheet colours, whenever the theme changes: by choice or with the system. @param {() => void} redraw */
export function whenColoursChange(redraw) {
  document.addEventListener("appearancechange", redraw);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", redraw);
  }
}
