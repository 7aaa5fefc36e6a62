"""Valid pictures of callers are taken, and others are refused."""

import pytest

from backend.errors import BadRequest, TooLarge
from backend.media.pictures import PICTURE_LIMIT, checked_picture, picture_parts
from tests.support.pictures import data_url, png

JPEG = b"\xff\xd8\xff\xe0"


@pytest.mark.parametrize("url", [data_url(png()), data_url(JPEG, "image/jpeg")])
def test_jpeg_and_png_are_passed_on_unchanged(url: str) -> None:
    assert checked_picture(url) == url


WRONG = {
    "no data URL": "https://example.org/cat.png",
    "another type": data_url(b"GIF89a", "image/gif"),
    "a script": data_url(b"<svg/>", "image/svg+xml"),
    "not in base64": "data:image/png,plain",
    "broken base64": "data:image/png;base64,%%%",
    "a name that its bytes deny": data_url(b"MZ\x90\x00"),
    "one type under the name of the other": data_url(png(), "image/jpeg"),
    "nothing": "",
}


@pytest.mark.parametrize("url", WRONG.values(), ids=WRONG)
def test_a_picture_that_no_model_takes_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadRequest) as refusal:
        checked_picture(url)
    assert refusal.value.hint and (not url or url not in f"{refusal.value} {refusal.value.hint}")


def test_a_picture_may_have_half_a_megabyte() -> None:
    largest = data_url(JPEG + bytes(PICTURE_LIMIT - len(JPEG)), "image/jpeg")
    assert checked_picture(largest) == largest
    with pytest.raises(TooLarge):
        checked_picture(data_url(JPEG + bytes(PICTURE_LIMIT + 100), "image/jpeg"))


def test_a_picture_is_split_into_its_type_and_its_base64() -> None:
    assert picture_parts("data:image/png;base64,AAAA") == ("image/png", "AAAA")
