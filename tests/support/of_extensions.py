"""What the tests of extensions add to suites of the core: the modules of one name in `tests/extensions/*/`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

EXTENSIONS = Path(__file__).resolve().parent.parent / "extensions"


def of_extensions(name: str) -> Iterator[ModuleType]:
    """Yield `tests/extensions/*/NAME.py`, imported; an extension without one adds nothing."""
    for path in sorted(EXTENSIONS.glob(f"*/{name}.py")):
        yield import_module(f"tests.extensions.{path.parent.name}.{name}")
