"""Finds the tools: every `@tool` function of every module in this package, and of extra folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from backend.errors import BadPlugin
from backend.tools.base import Tool
from backend.tools.discovery import folder_modules, package_modules
from backend.tools.runner import Toolbox


def discover(services: Mapping[Any, Any], folders: Iterable[Path] = ()) -> Toolbox:
    """All tools there are. Raises `BadPlugin` on a broken file, a name twice, or a service nobody provides."""
    found: dict[str, Tool] = {}
    modules = [*package_modules("backend.tools"), *(m for folder in folders for m in folder_modules(folder))]
    for module in modules:
        for tool in tools_of(module):
            if tool.name in found:
                raise BadPlugin(f"Two tools are called {tool.name}; the second is in {module.__name__}.")
            found[tool.name] = tool
    return Toolbox(found.values(), services)


def tools_of(module: ModuleType) -> list[Tool]:
    """The tools declared in `module` itself, not those it imports."""
    declared = (
        getattr(value, "__tool__", None)
        for value in vars(module).values()
        if getattr(value, "__module__", None) == module.__name__
    )
    return [tool for tool in declared if isinstance(tool, Tool)]
