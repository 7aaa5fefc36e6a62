"""Finds modules of installed extensions that serve tests, by their name."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from backend import extensions


def modules_named(which: str, first: str = "") -> Iterator[ModuleType]:
    """Yield the modules of that name, beginning with that of the extension `first`: some are slow to import."""
    names = [each.name for each in pkgutil.iter_modules(extensions.__path__) if each.ispkg]
    for name in sorted(names, key=lambda each: (each != first, each)):
        module = f"{extensions.__name__}.{name}.{which}"
        if find_spec(module) is not None:
            yield import_module(module)
