"""Pictures in messages: checked as the API checks them, and measured, so that a reply can say what has arrived."""

from __future__ import annotations

import binascii
from dataclasses import dataclass

from backend.realtime.faults import invalid

KINDS = {"image/jpeg": b"\xff\xd8", "image/png": b"\x89PNG\r\n\x1a\n"}
SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The markers of a JPEG's segments that tell its size."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a message."""

    kind: str
    width: int
    height: int

    def __str__(self) -> str:
        return f"a {self.kind.removeprefix('image/').upper()} of {self.width} by {self.height}"


def read_picture(url: str, param: str = "image_url") -> Picture:
    """Return the picture of an `input_image` part. Raises `Fault`."""
    head, _, encoded = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if head != f"data:{kind};base64" or kind not in KINDS:
        raise invalid(param, "expected a data URL of a JPEG or PNG in base64.")
    try:
        data = binascii.a2b_base64(encoded, strict_mode=True)
        return Picture(kind, *_size(kind, data))
    except (binascii.Error, LookupError):
        raise invalid(param, f"the data is no {kind}.") from None


def _size(kind: str, data: bytes) -> tuple[int, int]:
    """The width and height. Raises `LookupError` where the file does not say."""
    if not data.startswith(KINDS[kind]):
        raise LookupError
    if kind == "image/png":
        return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    at = 2
    while data[at] == 0xFF:
        if data[at + 1] in SIZES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    raise LookupError
