"""Write the table of Thinkers in `docs/howto/thinkers.md` from their manifests.

`python -m scripts.thinkers_table` writes it; `--check` only compares, and fails when it is out of date.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from backend.app.extensions import installed
from backend.thinkers.base import Manifest
from backend.tools.discovery import package_modules
from scripts.settings_table import between

PAGE = Path(__file__).resolve().parent.parent / "docs/howto/thinkers.md"
MARKS = ("<!-- thinkers:begin -->\n", "<!-- thinkers:end -->")


def manifests() -> list[Manifest]:
    """Return the manifest of every Thinker of the core and its extensions, sorted by domain."""
    modules = (*package_modules("backend.thinkers"), *installed().modules("thinkers"))
    found = [module.MANIFEST for module in modules if hasattr(module, "MANIFEST")]
    return sorted(found, key=lambda manifest: manifest.domain)


def table(thinkers: Iterable[Manifest]) -> str:
    """Return the table in Markdown."""
    rows = "".join(f"| {' | '.join(_cells(each))} |\n" for each in thinkers)
    return "| Thinker | What for | For example | Tools | Answers kept |\n| --- | --- | --- | --- | --- |\n" + rows


def updated(page: str) -> str:
    """Return the page with today's table. Raise `ValueError` when the marks are missing."""
    return between(MARKS, table(manifests()), page)


def main(arguments: list[str]) -> int:
    """Write the table, or with `--check` report that it is out of date (exit code 1)."""
    text = PAGE.read_text()
    if (new := updated(text)) == text:
        return 0
    if "--check" in arguments:
        print("docs/howto/thinkers.md is out of date: run python -m scripts.thinkers_table")
        return 1
    PAGE.write_text(new)
    print("wrote docs/howto/thinkers.md")
    return 0


def _cells(manifest: Manifest) -> tuple[str, ...]:
    tools = ", ".join(f"`{tool}`" for tool in manifest.tools) or "–"
    cells = (f"`{manifest.domain}`", manifest.description, f"“{manifest.example}”", tools, _kept(manifest))
    return tuple(cell.replace("|", "\\|") for cell in cells)


def _kept(manifest: Manifest) -> str:
    """Return in words how long an answer may be served again."""
    if not manifest.cache_ttl_s:
        return "no"
    minutes, seconds = divmod(manifest.cache_ttl_s, 60)
    time = f"{minutes} min" if not seconds else f"{manifest.cache_ttl_s} s"
    return f"{time}, for the same user" if manifest.cache_scope == "user" else time


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
