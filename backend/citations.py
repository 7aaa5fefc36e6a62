"""The sources of an answer, for the user to follow: each has a title, and an address if it has one.

Stored records keep a citation as text, `Title (https://…)`, as they always have: servers of both versions read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass

_WITH_ADDRESS = re.compile(r"(.*?) ?\((https?://\S+)\)", re.DOTALL)
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class Citation:
    """A source. `url` is empty for a work without an address, such as a book or a document of the operator."""

    title: str
    url: str = ""

    def __str__(self) -> str:
        return f"{self.title} ({self.url})" if self.url else self.title

    @classmethod
    def read(cls, text: str) -> Citation:
        """Return the citation that a stored text stands for; an address alone is its own title."""
        if found := _WITH_ADDRESS.fullmatch(text):
            return cls(found[1] or found[2], found[2])
        return cls(text, text if _ADDRESS.fullmatch(text) else "")


def as_texts(citations: Iterable[Citation]) -> tuple[str, ...]:
    """Return citations as records store them."""
    return tuple(map(str, citations))


def from_texts(texts: Iterable[str]) -> tuple[Citation, ...]:
    """Return the citations of a stored record."""
    return tuple(map(Citation.read, texts))


def as_json(citations: Iterable[Citation]) -> list[dict[str, str]]:
    """Return citations as answers show them: objects with `title` and `url`."""
    return [asdict(citation) for citation in citations]
