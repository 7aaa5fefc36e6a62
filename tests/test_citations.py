"""Citations have a title and an address, and are read from the text that records keep of them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.citations import Citation, as_json, as_texts, from_texts
from backend.storage.messages import Message


@pytest.mark.parametrize(
    ("text", "citation"),
    [
        ("Trams (https://b.example/trams)", Citation("Trams", "https://b.example/trams")),
        ("Oslo (city) (https://x.example/Oslo_(city))", Citation("Oslo (city)", "https://x.example/Oslo_(city)")),
        ("https://b.example/trams", Citation("https://b.example/trams", "https://b.example/trams")),
        ("(https://b.example)", Citation("https://b.example", "https://b.example")),
        ("Handbook, Holidays", Citation("Handbook, Holidays")),
        ("Some book (1971)", Citation("Some book (1971)")),
        ("bad (javascript:alert(1))", Citation("bad (javascript:alert(1))")),
        ("", Citation("")),
    ],
)
def test_a_stored_text_is_read_as_title_and_address(text: str, citation: Citation) -> None:
    assert Citation.read(text) == citation


TITLES = st.text(min_size=1).filter(lambda title: "http" not in title and not title.endswith(" "))


@given(TITLES, st.from_regex(r"https?://[a-z]+\.example/[a-z()?=&.]*", fullmatch=True) | st.just(""))
def test_what_is_stored_comes_back_as_it_was(title: str, url: str) -> None:
    citation = Citation(title, url)
    assert from_texts(as_texts([citation])) == (citation,)


def test_a_message_of_an_earlier_version_has_its_sources_and_a_new_one_is_stored_as_it_was_then() -> None:
    older = b'{"role": "assistant", "content": "By tram.", "at": 1.0, "citations": ["Trams (https://b.example/trams)"]}'
    message = msgspec.json.decode(older, type=Message)
    assert as_json(message.cited) == [{"title": "Trams", "url": "https://b.example/trams"}]
    newer = Message("assistant", "By tram.", 1.0, citations=as_texts(message.cited))
    assert msgspec.json.decode(msgspec.json.encode(newer))["citations"] == ["Trams (https://b.example/trams)"]
