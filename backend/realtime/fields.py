"""Readers of a client's fields. Each raises `Fault`."""

from __future__ import annotations

import binascii
import re
from typing import Annotated, Any, TypeVar

from msgspec import Meta, ValidationError, convert

from backend.errors import CallerError
from backend.media.pictures import checked_picture
from backend.realtime.faults import Fault, invalid, invalid_type, missing

T = TypeVar("T")
Whole = Annotated[int, Meta(ge=0)]
ITEM_ID_LIMIT = 32
"""Characters that a client's id for an item may have."""
MIN_COMMIT_MS = 100
"""Milliseconds of audio that a turn committed by a client needs."""

_PLACED = re.compile(r"(?P<why>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?")
"""A complaint of msgspec's, and the path of the value."""
_MISSING = re.compile(r"Object missing required field `(.*)`")


def read(given: Any, kind: Any, at: str) -> Any:
    """Return what was given as a `kind`; `at` is its own path, e.g. `session`."""
    try:
        return convert(given, kind)
    except ValidationError as error:
        raise _fault(str(error), at) from None


def _fault(complaint: str, at: str) -> Fault:
    found = _PLACED.fullmatch(complaint)
    assert found
    why, param = found["why"], f"{at}{found['path'] or ''}".removeprefix(".")
    if absent := _MISSING.fullmatch(why):
        return missing(f"{param}.{absent[1]}".removeprefix("."))
    return (invalid_type if ", got `" in why else invalid)(param, f"{why}.")


def picture(value: str, param: str) -> str:
    """Return the data URL of a picture, if it is one that models take."""
    try:
        return checked_picture(value)
    except CallerError as error:
        raise invalid(param, f"{error} {error.hint}") from None


def audio_of(encoded: str, param: str = "audio") -> bytes:
    """Return bytes out of base64."""
    try:
        return binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise invalid(param, "expected base64-encoded audio.") from None
