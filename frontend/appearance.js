/*
 * The theme and the captions that were chosen on this device. A plain script at the end of the head, so that the first
 * paint has them already. `appearancechange` on the document says that another choice was stored.
 */
{
  const LIGHT = "(prefers-color-scheme: light)";
  const root = document.documentElement;

  const stored = (/** @type {string} */ name) => {
    try {
      return localStorage.getItem(name) ?? "";
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      return "";
    }
  };

  /** The colours of the light scheme: the one media rule for it. */
  const lightRules = Array.from(document.styleSheets, (sheet) => Array.from(sheet.cssRules)).flat()
    .filter((rule) => rule instanceof CSSMediaRule && rule.conditionText === LIGHT);
  const barColours = Array.from(document.querySelectorAll("meta[name=theme-color]"), (meta) => ({ meta, usual: meta.getAttribute("media") ?? "" }));

  const apply = () => {
    const theme = stored("theme");
    const fixed = theme === "light" || theme === "dark";
    root.style.colorScheme = fixed ? theme : "";
    for (const rule of lightRules) {
      /** @type {CSSMediaRule} */ (rule).media.mediaText = fixed ? (theme === "light" ? "all" : "not all") : LIGHT;
    }
    for (const { meta, usual } of barColours) meta.setAttribute("media", fixed ? (usual.includes(theme) ? "all" : "not all") : usual);
    root.dataset.captions = stored("captions") === "off" ? "off" : "on";
  };

  apply();
  document.addEventListener("appearancechange", apply);
  addEventListener("storage", ({ key }) => (key === "theme" || key === "captions") && document.dispatchEvent(new Event("appearancechange")));
}
