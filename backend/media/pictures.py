"""A caller's picture on its way to a model: checked here, and passed on as a data URL. Nothing keeps it."""

from __future__ import annotations

import binascii

from backend.errors import BadRequest, TooLarge

PICTURE_LIMIT = 512 * 1024
"""Bytes of a picture. The page makes it smaller before it is sent."""
ENCODED_LIMIT = PICTURE_LIMIT * 4 // 3 + 64
"""Characters of a data URL that may hold one."""
KINDS = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}
"""The media types that models take, and the bytes with which such a file begins."""
HINT = "JPEG and PNG are taken, as data:image/jpeg;base64,… or data:image/png;base64,…"


def checked_picture(url: str) -> str:
    """Return a picture's data URL, if it is one that models take. Raises `BadRequest` or `TooLarge`.

    Its type is what its first bytes say: what it claims to be is only repeated.
    """
    if len(url) > ENCODED_LIMIT:
        raise TooLarge(
            "The picture is too large.", hint=f"At most {PICTURE_LIMIT // 1024} KB are taken: make it smaller."
        )
    head, _, encoded = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if head != f"data:{kind};base64" or kind not in KINDS:
        raise BadRequest("This is not a picture that can be shown.", hint=HINT)
    try:
        picture = binascii.a2b_base64(encoded, strict_mode=True)
    except binascii.Error:
        raise BadRequest("The picture is not valid base64.", hint=HINT) from None
    if not picture.startswith(KINDS[kind]):
        raise BadRequest(f"The picture is not {kind}.", hint=HINT)
    return url


def picture_parts(url: str) -> tuple[str, str]:
    """Return the media type and the base64 of a picture's data URL."""
    head, _, encoded = url.partition(",")
    return head.removeprefix("data:").removesuffix(";base64"), encoded
