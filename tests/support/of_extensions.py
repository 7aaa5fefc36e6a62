"""Additions of the extensions' tests to suites of the core: the modules of one name in `tests/extensions/*/`."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

EXTENSIONS = Path(__file__).resolve().parent.parent / "extensions"
BACKEND = EXTENSIONS.parent.parent / "backend" / "extensions"


def of_extensions(name: str) -> Iterator[ModuleType]:
    """Yield `tests/extensions/*/NAME.py`, imported; an extension without one adds nothing."""
    for path in sorted(EXTENSIONS.glob(f"*/{name}.py")):
        yield import_module(f"tests.extensions.{path.parent.name}.{name}")


def is_of_deleted(path: str) -> bool:
    """Return whether a document names a file of a deleted extension. The document stays right without it."""
    parts = path.removeprefix("backend/").removeprefix("tests/").split("/")
    return parts[0] == "extensions" and len(parts) > 1 and not (BACKEND / parts[1]).exists()
