"""The declarations of the Thinkers and tools of this server and its extensions."""

from backend.app.extensions import installed
from backend.thinkers.base import Addition, Manifest
from backend.tools.base import Tool
from backend.tools.discovery import package_modules
from backend.tools.registry import tools_of


def all_manifests() -> tuple[Manifest, ...]:
    """The manifest of every Thinker, those of extensions included."""
    modules = (*package_modules("backend.thinkers"), *installed().modules("thinkers"))
    found: dict[str, Manifest] = {each.MANIFEST.domain: each.MANIFEST for each in modules if hasattr(each, "MANIFEST")}
    for module in modules:
        additions: tuple[Addition, ...] = getattr(module, "ADDITIONS", ())
        for addition in additions:
            found[addition.domain] = addition.to(found[addition.domain])
    return tuple(found.values())


def all_tools() -> dict[str, Tool]:
    """Every tool by its name, unconfigured ones included."""
    modules = (*package_modules("backend.tools"), *installed().modules("tools"))
    return {tool.name: tool for module in modules for tool in tools_of(module)}
