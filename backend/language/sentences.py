"""Splitting text into sentences, and shortening it to whole ones. Pure."""

import re

_BETWEEN = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*(?=\S)|\n+")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a new line also begins one."""
    return [part for part in map(str.strip, _BETWEEN.split(text)) if part]


def first_sentences(text: str, chars: int) -> str:
    """Return as many whole sentences as fit into `chars` characters; if none does, the beginning of the first."""
    if len(text) <= chars:
        return text
    ends = [found.start() for found in _BETWEEN.finditer(text) if found.start() <= chars]
    return text[: ends[-1]] if ends else text[:chars].rsplit(" ", 1)[0] + " …"
