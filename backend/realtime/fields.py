"""Reading a client event's fields: present, of the right type, and known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from backend.realtime.faults import invalid, invalid_type, missing, unknown


def required_text(event: Mapping[str, Any], name: str, at: str = "") -> str:
    """A string that must be there. `at` is the path of the enclosing object, e.g. 'item.'."""
    if name not in event or event[name] is None:
        raise missing(at + name)
    return text(event[name], at + name)


def text(value: Any, param: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise invalid_type(param, "a string")
    return value


def whole(value: Any, param: str, *, least: int = 0) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid_type(param, "an integer")
    if value < least:
        raise invalid(param, f"expected a value of at least {least}.")
    return value


def mapping(value: Any, param: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, Mapping):
        raise invalid_type(param, "an object")
    return value


def sequence(value: Any, param: str) -> list[Any]:
    """An array."""
    if not isinstance(value, list):
        raise invalid_type(param, "an array")
    return value


def one_of(value: Any, allowed: Collection[Any], param: str) -> Any:
    """A value out of `allowed`."""
    if value not in allowed:
        raise invalid(param, "supported values are: " + ", ".join(repr(each) for each in allowed) + ".")
    return value


def only(given: Mapping[str, Any], known: Collection[str], at: str) -> None:
    """No field but the known ones."""
    for name in given:
        if name not in known:
            raise unknown(at + name)


def short_id(value: Any, param: str) -> str:
    """An id a client chose: at most 32 characters, as the API wants."""
    chosen = text(value, param)
    if not 0 < len(chosen) <= 32:
        raise invalid(param, "expected an id of 1 to 32 characters.")
    return chosen


def metadata(value: Any, param: str) -> dict[str, str] | None:
    """Up to 16 pairs of text; keys up to 64 characters, values up to 512."""
    if value is None:
        return None
    pairs = mapping(value, param)
    if len(pairs) > 16:
        raise invalid(param, "at most 16 pairs are allowed.")
    for key, each in pairs.items():
        if len(key) > 64 or len(text(each, f"{param}.{key}")) > 512:
            raise invalid(f"{param}.{key}", "keys hold up to 64 characters, values up to 512.")
    return dict(pairs)
