"""The sources of an answer, for the user to follow: each has a title, and an address if it has one."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Citation:
    """A source. `url` is empty for a work without an address, such as a book or a document of the operator."""

    title: str
    url: str = ""

    def __str__(self) -> str:
        return f"{self.title} ({self.url})" if self.url else self.title


def as_json(citations: Iterable[Citation]) -> list[dict[str, str]]:
    """Return citations as answers show them: objects with `title` and `url`."""
    return [asdict(citation) for citation in citations]
