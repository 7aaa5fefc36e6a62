"""Readers of a client's fields: each field is there, of the right type, and known. Each raises `Fault`."""

from __future__ import annotations

import binascii
from collections.abc import Collection, Mapping
from typing import Any

from backend.errors import CallerError
from backend.media.pictures import checked_picture
from backend.realtime.faults import invalid, invalid_type, missing, unknown

ITEM_ID_LIMIT = 32
"""Characters that a client's id for an item may have."""
MIN_COMMIT_MS = 100
"""Milliseconds of audio that a turn committed by a client needs."""


def required_text(event: Mapping[str, Any], name: str, at: str = "") -> str:
    """Return a string that must be there. `at` is the path of the enclosing object, e.g. 'item.'."""
    if event.get(name) is None:
        raise missing(at + name)
    return text(event[name], at + name)


def text(value: Any, param: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise invalid_type(param, "a string")
    return value


def whole(value: Any, param: str, *, least: int = 0, most: int | None = None) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid_type(param, "an integer")
    if value < least or (most is not None and value > most):
        raise invalid(param, f"expected a value of at least {least}{'' if most is None else f' and at most {most}'}.")
    return value


def number(value: Any, param: str, *, least: float, most: float) -> float:
    """Return a number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid_type(param, "a number")
    if not least <= value <= most:
        raise invalid(param, f"expected {least:g} to {most:g}.")
    return value


def flag(value: Any, param: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise invalid_type(param, "a boolean")
    return value


def mapping(value: Any, param: str) -> Mapping[str, Any]:
    """Return an object."""
    if not isinstance(value, Mapping):
        raise invalid_type(param, "an object")
    return value


def sequence(value: Any, param: str) -> list[Any]:
    """Return an array."""
    if not isinstance(value, list):
        raise invalid_type(param, "an array")
    return value


def one_of(value: Any, allowed: Collection[Any], param: str) -> Any:
    """Return a value out of `allowed`, which are all of one type."""
    if not any(value == each and type(value) is type(each) for each in allowed):
        raise invalid(param, "supported values are: " + ", ".join(repr(each) for each in allowed) + ".")
    return value


def only(given: Mapping[str, Any], known: Collection[str], at: str) -> None:
    """Allow no field but the known ones."""
    for name in given:
        if name not in known:
            raise unknown(at + name)


def short_id(value: Any, param: str) -> str:
    """Return an id a client chose."""
    chosen = text(value, param)
    if not 0 < len(chosen) <= ITEM_ID_LIMIT:
        raise invalid(param, f"expected an id of 1 to {ITEM_ID_LIMIT} characters.")
    return chosen


def metadata(value: Any, param: str) -> dict[str, str] | None:
    """Return up to 16 pairs of text; keys up to 64 characters, values up to 512."""
    if value is None:
        return None
    pairs = mapping(value, param)
    if len(pairs) > 16:
        raise invalid(param, "at most 16 pairs are allowed.")
    for key, each in pairs.items():
        if len(key) > 64 or len(text(each, f"{param}.{key}")) > 512:
            raise invalid(f"{param}.{key}", "keys hold up to 64 characters, values up to 512.")
    return dict(pairs)


def picture(value: Any, param: str) -> str:
    """Return the data URL of a picture, if it is one that models take."""
    try:
        return checked_picture(text(value, param))
    except CallerError as error:
        raise invalid(param, f"{error} {error.hint}") from None


def audio_of(encoded: str, param: str = "audio") -> bytes:
    """Return bytes out of base64."""
    try:
        return binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise invalid(param, "expected base64-encoded audio.") from None
