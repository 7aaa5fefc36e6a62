"""The settings of extensions and plugins: typed, read from the environment and `.env` like the server's own.

    class MoonSettings(PluginSettings, env_prefix="MOON__"):
        api_key: SecretStr = Field(SecretStr(""), description="A key of the moon's service.")

A tool or a step has them injected by their type; a Thinker asks `plugin_settings(MoonSettings)`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from backend.errors import BadPlugin, SettingsError


class PluginSettings(BaseSettings):
    """The settings of an extension or a plugin. A subclass names its prefix, in capitals and ending with `__`."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", env_ignore_empty=True, validate_default=True)

    @classmethod
    def prefix(cls) -> str:
        """Return what its variables begin with."""
        return str(cls.model_config.get("env_prefix", ""))

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of its variables."""
        return [f"{cls.prefix()}{name.upper()}" for name in cls.model_fields]


S = TypeVar("S", bound=PluginSettings)


@cache
def plugin_settings(kind: type[S]) -> S:
    """Return the settings of `kind`, read once in this process. Raises `SettingsError`, naming the variables."""
    return read_settings(kind)


def read_settings(kind: type[S], given: Mapping[str, Any] = MappingProxyType({})) -> S:
    """Read the settings of `kind`; what is `given`, by field, wins. Raises `SettingsError`, naming the variables."""
    try:
        return kind(**given)
    except ValidationError as error:
        faults = [
            f"{kind.prefix()}{'__'.join(map(str, each['loc'])).upper()}: {each['msg'].removeprefix('Value error, ')}"
            for each in error.errors(include_input=False)
        ]
        raise SettingsError("; ".join(faults), hint="Correct it in the environment or in .env.") from None


def settings_in(module: ModuleType, taken: frozenset[str]) -> list[type[PluginSettings]]:
    """Return the settings that a plugin declares. `taken` are prefixes of the server's own settings.

    Raises `BadPlugin` for a prefix that is none or taken, and `SettingsError` for a value that does not fit; both name
    the file.
    """
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, PluginSettings) and value.__module__ == module.__name__
    ]
    for kind in found:
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*__", kind.prefix()) or kind.prefix() in taken:
            raise BadPlugin(
                f"{module.__file__}: {kind.__name__} needs a prefix of its own, not {kind.prefix() or 'none'}.",
                hint=f'Write e.g. class {kind.__name__}(PluginSettings, env_prefix="MOON__").',
            )
        try:
            plugin_settings(kind)
        except SettingsError as error:
            raise SettingsError(f"{error} (declared in {module.__file__})", hint=error.hint) from None
    return found
