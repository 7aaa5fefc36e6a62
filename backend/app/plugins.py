"""Loads the plugins: the files of PLUGIN_FOLDERS, with the settings they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from backend.errors import BadPlugin
from backend.middleware.plan import steps_of
from backend.settings.plugin import PluginSettings, plugin_settings, settings_in
from backend.settings.unknown import groups_of_settings
from backend.tools.discovery import folder_modules
from backend.tools.registry import tools_of


@dataclass(frozen=True, slots=True)
class Plugins:
    """The loaded files."""

    modules: tuple[ModuleType, ...] = ()
    settings: tuple[type[PluginSettings], ...] = ()

    @property
    def services(self) -> Mapping[Any, Any]:
        """The settings by their type, for tools and steps."""
        return {kind: plugin_settings(kind) for kind in self.settings}


def load_plugins(folders: Iterable[Path]) -> Plugins:
    """Return the plugins of these folders. A file is loaded once.

    Raises `BadPlugin` for a file that cannot be loaded or declares nothing, `SettingsError` for a wrong setting of one.
    """
    modules = tuple(module for folder in folders for module in folder_modules(folder))
    taken, kinds = groups_of_settings(), list[type[PluginSettings]]()
    for module in modules:
        if not hasattr(module, "MANIFEST") and not tools_of(module) and not steps_of(module):
            raise BadPlugin(f"{module.__file__} holds neither a MANIFEST, nor a tool, nor a step.")
        for kind in settings_in(module, taken):
            kinds.append(kind)
            taken |= {kind.prefix()}
    return Plugins(modules, tuple(kinds))
