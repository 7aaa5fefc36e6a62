"""Readers of a client's fields. Each raises `Fault`."""

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
"""The most characters of a client's id for an item."""
MIN_COMMIT_MS = 100
"""The least milliseconds of audio in a turn that a client commits."""

_PLACED = re.compile(r"(?P<why>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?")
"""An error message of msgspec, with the path of the value."""
_MISSING = re.compile(r"Object missing required field `(.*)`")


def read(given: Any, kind: Any, at: str) -> Any:
    """Return `given` checked as a `kind`; `at` is its path in the event, e.g. `session`. Raises `Fault`."""
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
    """Return the data URL of a picture that models take. Raises `Fault`."""
    try:
        return checked_picture(value)
    except CallerError as error:
        raise invalid(param, f"{error} {error.hint}") from None


def audio_of(encoded: str, param: str = "audio") -> bytes:
    """Return the audio bytes of a base64 text. Raises `Fault`."""
    try:
        return binascii.a2b_base64(encoded, strict_mode=True)
    except ValueError:
        raise invalid(param, "expected base64-encoded audio.") from None
