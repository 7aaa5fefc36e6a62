"""A group of settings, read from the environment and from `.env`: the server's own, an extension's, a plugin's.

    class MoonSettings(PluginSettings, env_prefix="MOON__"):
        api_key: SecretStr = Field(SecretStr(""), description="A key of the moon's service.")

A tool or a step has them injected by their type; a Thinker asks `plugin_settings(MoonSettings)`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from backend.errors import BadPlugin, SettingsError


class PluginSettings(BaseSettings):
    """A group of settings. Those of extensions and plugins have a prefix of their own, in capitals, ending in `__`."""

    model_config = SettingsConfigDict(
        env_file=".env", env_nested_delimiter="__", extra="ignore", env_ignore_empty=True, validate_default=True
    )

    @classmethod
    def prefix(cls) -> str:
        """Return the prefix of the group's variables."""
        return str(cls.model_config.get("env_prefix", ""))

    @classmethod
    def variables(cls) -> list[tuple[str, FieldInfo]]:
        """Return the names of the group's variables, each with its field."""
        return list(_variables(cls, cls.prefix()))


def _variables(model: type[BaseModel], prefix: str, given: object = None) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the variables of `model`; those of a nested model as PREFIX__NAME, with the defaults that it is given."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _variables(field.annotation, f"{prefix}{name.upper()}__", field.default)
        elif hasattr(given, name):
            yield f"{prefix}{name.upper()}", FieldInfo.merge_field_infos(field, default=getattr(given, name))
        else:
            yield f"{prefix}{name.upper()}", field


S = TypeVar("S", bound=PluginSettings)


@cache
def plugin_settings(kind: type[S]) -> S:
    """Return the settings of `kind`, read once in this process. Raises `SettingsError`, naming the variables."""
    return read_settings(kind)


def read_settings(
    kind: type[S], given: Mapping[str, Any] = MappingProxyType({}), env_file: Path | None = Path(".env")
) -> S:
    """Read the settings of `kind`; values in `given` win. Raises `SettingsError`, naming the variables."""
    try:
        return read_group(kind, given, env_file)
    except ValidationError as error:
        hint = "Correct it in the environment or in .env."
        raise SettingsError("; ".join(faults_in(kind, error)), hint=hint) from None


def read_group(kind: type[S], given: Mapping[str, Any], env_file: Path | None) -> S:
    """Read the settings of `kind`. Values in `given`, by variable or group (`vad__enabled`, `vad={"enabled": …}`), win.

    Raises `ValidationError`.
    """
    prefix = kind.prefix().lower()
    values = {name: given[prefix + name] for name in kind.model_fields if prefix + name in given}
    together = given.get(prefix.removesuffix("__"), {}) if prefix.endswith("__") else {}
    if isinstance(together, kind):
        return together
    options: dict[str, Any] = {"_env_file": env_file, **values, **together}
    return kind(**options)


def faults_in(kind: type[PluginSettings], error: ValidationError) -> list[str]:
    """Return a sentence for each fault, with the variable if there is one; no sentence repeats a value."""
    sentences = []
    for fault in error.errors(include_input=False):
        name = kind.prefix() + "__".join(map(str, fault["loc"])).upper() if fault["loc"] else ""
        sentences.append(": ".join(filter(None, (name, fault["msg"].removeprefix("Value error, ")))))
    return sentences


def settings_in(module: ModuleType, taken: frozenset[str]) -> list[type[PluginSettings]]:
    """Return the settings that a plugin declares; `taken` are prefixes of the server's own settings.

    Raises `BadPlugin` for a missing or taken prefix, and `SettingsError` for a wrong value; both name the file.
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
