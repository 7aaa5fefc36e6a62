"""The check of a caller's picture, which is passed to the model as a data URL and not kept."""

import binascii

from backend.errors import BadRequest, TooLarge

PICTURE_LIMIT = 512 * 1024
"""The most bytes of a picture; the page makes larger pictures smaller before it sends them."""
ENCODED_LIMIT = PICTURE_LIMIT * 4 // 3 + 64
"""The most characters of a picture's data URL."""
KINDS = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}
"""The media types that models take, and the bytes with which such a file begins."""
HINT = "JPEG and PNG are taken, as data:image/jpeg;base64,… or data:image/png;base64,…"


def checked_picture(url: str) -> str:
    """Return a picture's data URL if models take such a picture. Raises `BadRequest` or `TooLarge`.

    The first bytes must show the type that the URL names.
    """
    if len(url) > ENCODED_LIMIT:
        raise TooLarge(
            "The picture is too large.", hint=f"At most {PICTURE_LIMIT // 1024} KB are taken: make it smaller."
        )
    head, _, encoded = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if head != f"data:{kind};base64" or kind not in KINDS:
        raise BadRequest("This is not a picture that models take.", hint=HINT)
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
