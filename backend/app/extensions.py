"""This module finds the extensions and one-file plugins of this server, with the settings that they declare."""

import importlib
import logging
import os
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import httpx2

from backend import extensions
from backend.errors import BadPlugin, SetupError, VoiceError
from backend.extension import Extension, Ground, Opened, OpenProvider
from backend.http.app import Joined
from backend.media.vad import VadEngine
from backend.media.vad_silero import SileroEngine
from backend.middleware.pipeline import steps_of
from backend.settings.plugin import PluginSettings, settings_in
from backend.settings.settings import Settings
from backend.settings.unknown import prefixes, unknown_settings
from backend.storage.memory import Memory
from backend.tools.discovery import folder_modules, imported_module
from backend.tools.registry import tools_of

log = logging.getLogger(__name__)
T = TypeVar("T")

OWN_PACKAGES = ("backend", "responder_thinker")
ENTRY_POINTS = "responder_thinker.extensions"
"""The entry-point group in which installed packages name their `Extension`."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The extensions and plugins of this server."""

    extensions: tuple[Extension, ...] = ()
    plugins: tuple[ModuleType, ...] = ()
    """The files of PLUGIN_FOLDERS."""
    plugin_settings: tuple[type[PluginSettings], ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Extensions that cannot be loaded → the package that each lacks."""
    faults: tuple[SetupError, ...] = ()
    """The faults of plugins that are left out, or stay as they were loaded last."""

    @property
    def settings(self) -> tuple[type[PluginSettings], ...]:
        """The settings of extensions and plugins."""
        return (*(kind for each in self.extensions for kind in each.settings), *self.plugin_settings)

    @property
    def responders(self) -> Mapping[str, OpenProvider]:
        """The providers of the Responder by name."""
        return {name: opener for each in self.extensions for name, opener in each.responders.items()}

    @property
    def joined(self) -> Joined:
        """The parts that extensions add to the HTTP application."""
        return Joined(
            routers=[router for each in self.extensions for router in each.routes],
            grants={path: grant for each in self.extensions for path, grant in each.grants.items()},
            token_sockets={path: write for each in self.extensions for path, write in each.token_sockets.items()},
            credentials=[own for each in self.extensions for own in each.credentials],
        )

    def slips(self) -> list[str]:
        """Return a sentence for each variable that is meant as a setting and is none; none of a missing extension."""
        former = {name: advice for each in self.extensions for name, advice in each.former.items()}
        missing = tuple(f"{name.upper()}__" for name in self.missing)
        slips = unknown_settings(os.environ, Path(".env"), self.settings, former)
        return [each for each in slips if not each.startswith(missing)]

    def vad_engine(self, settings: Settings) -> type[VadEngine]:
        """Return what detects speech."""
        return next((engine for each in self.extensions if (engine := each.vad_engine(settings))), SileroEngine)

    def credentials(self, settings: Settings) -> list[str]:
        """Return those variables that are set and let callers act with the operator's credentials."""
        secret = {name for each in self.extensions for name in each.secrets}
        values = ((kind, name) for kind in self.settings for name in kind.model_fields)
        held = ((f"{kind.prefix()}{name.upper()}", getattr(settings.of(kind), name)) for kind, name in values)
        return [name for name, value in held if name in secret and value]

    def modules(self, part: str) -> tuple[ModuleType, ...]:
        """Return the modules with `tools`, `thinkers` or `steps`, and the plugins. Raises `BadPlugin`."""
        names = (name for each in self.extensions for name in getattr(each, part))
        return (*(imported_module(name) for name in names), *self.plugins)

    def services(self, settings: Settings, http: httpx2.AsyncClient, memory: Memory) -> dict[Any, Any]:
        """Return the objects that tools and steps get by type: settings, and services of extensions."""
        made: dict[Any, Any] = {kind: settings.of(kind) for kind in self.settings}
        for each in self.extensions:
            made |= each.services(settings, http, memory)
        return made


def installed(folders: Iterable[Path] = ()) -> Installed:
    """Return the extensions and plugins of this server and of `folders`. A file is loaded once.

    A plugin that is broken, declares nothing or has a wrong setting keeps no other out. Raises `SetupError` for an
    extension that cannot be loaded.
    """
    own, missing = _of_this_server()
    found, plugins, faults = [*own, *_of_packages()], list[ModuleType](), list[SetupError]()
    files = [module for each in folders for module in folder_modules(each, faults)]
    found += [module.EXTENSION for module in files if _is_extension(module)]
    _require_different_names(found)
    taken = prefixes() | {kind.prefix() for each in found for kind in each.settings}
    kinds = list[type[PluginSettings]]()
    for module in (each for each in files if not _is_extension(each)):
        try:
            declared = _settings_of(module, taken)
        except SetupError as error:
            faults.append(error)
        else:
            plugins.append(module)
            kinds += declared
            taken |= {kind.prefix() for kind in declared}
    return Installed(tuple(found), tuple(plugins), tuple(kinds), missing, tuple(faults))


def with_working_plugins(having: Installed, build: Callable[[Installed], T]) -> T:
    """Return what `build` makes of all plugins or, if it raises `BadPlugin`, of those that work together.

    Each plugin that is left out is logged. Raises `BadPlugin` if `build` fails without any plugin.
    """
    try:
        return build(having)
    except BadPlugin:
        built = build(replace(having, plugins=()))
    kept, faulty = tuple[ModuleType, ...](), dict[ModuleType, BadPlugin]()
    while module := next((each for each in having.plugins if each not in (*kept, *faulty)), None):
        try:
            built = build(replace(having, plugins=(*kept, module)))
        except BadPlugin as error:
            faulty[module] = error
        else:
            kept, faulty = (*kept, module), {}  # those that may have needed it are tried again
    for module, fault in faulty.items():
        log.error("the plugin %s is left out: %s", module.__file__, fault)
    return built


@asynccontextmanager
async def open_extensions(having: Installed, ground: Ground) -> AsyncIterator[Mapping[str, Opened]]:
    """Open the extensions, and yield their parts by name. They end in the reverse order.

    Raises `SettingsError` for a wrong setting, and `SetupError`.
    """
    for kind in having.settings:
        ground.settings.of(kind)
    opened = dict[str, Opened]()
    async with AsyncExitStack() as stack:
        for each in having.extensions:
            if each.open is None:
                opened[each.name] = Opened()
            else:
                opened[each.name] = await stack.enter_async_context(each.open(ground))
        yield opened


@cache
def _of_this_server() -> tuple[tuple[Extension, ...], Mapping[str, str]]:
    """Return the extensions of this server, and the missing package of each one that cannot be loaded."""
    found, missing = list[Extension](), dict[str, str]()
    for name in sorted(info.name for info in pkgutil.iter_modules(extensions.__path__)):
        try:
            found.append(_declared(f"{extensions.__name__}.{name}.extension"))
        except ModuleNotFoundError as error:
            if not error.name or error.name.partition(".")[0] in OWN_PACKAGES:
                raise
            missing[name] = error.name.partition(".")[0]
    return tuple(found), missing


def _is_extension(module: ModuleType) -> bool:
    return isinstance(getattr(module, "EXTENSION", None), Extension)


def _settings_of(module: ModuleType, taken: frozenset[str]) -> list[type[PluginSettings]]:
    """Return the settings of a plugin. Raises `BadPlugin`, and `SettingsError` for a wrong value."""
    if not hasattr(module, "MANIFEST") and not tools_of(module) and not steps_of(module):
        raise BadPlugin(f"{module.__file__} holds neither a MANIFEST, nor a tool, nor a step, nor an EXTENSION.")
    return settings_in(module, taken)


def _of_packages() -> Iterator[Extension]:
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            declared = point.load()
        except VoiceError:
            raise
        except Exception as error:
            raise BadPlugin(f"The extension {point.name} ({point.value}) cannot be loaded: {error}.") from error
        if not isinstance(declared, Extension):
            raise BadPlugin(f"The entry point {point.name} ({point.value}) is no Extension.")
        yield declared


def _declared(module: str) -> Extension:
    declared: Extension = importlib.import_module(module).EXTENSION
    return declared


def _require_different_names(found: Iterable[Extension]) -> None:
    """Raise `SetupError` if two extensions have the same name."""
    seen = set[str]()
    for each in found:
        if each.name in seen:
            raise SetupError(f"Two extensions are called {each.name}.", hint="Remove one of them, or rename it.")
        seen.add(each.name)
