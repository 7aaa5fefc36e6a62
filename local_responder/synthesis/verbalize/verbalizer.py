"""Text as it is written → the words that are spoken, and which of them belong to which written word. Pure.

    verbalize("It is 7:30 and 21 °C.").spoken == "It is seven thirty and twenty-one degrees Celsius."

The transcript that the caller sees stays the written text; only the sound is made of the spoken words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from local_responder.synthesis.verbalize.abbreviations import ABBREVIATIONS
from local_responder.synthesis.verbalize.amounts import AMOUNTS
from local_responder.synthesis.verbalize.calendar import CALENDAR
from local_responder.synthesis.verbalize.codes import ADDRESSES, CODES
from local_responder.synthesis.verbalize.markup import CALCULATION, MARKUP, REST, pronounceable
from local_responder.synthesis.verbalize.spans import Span, rule, spans_of

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Verbalized:
    """What is spoken for a text."""

    spoken: str
    """Words and punctuation, no digits or symbols; '' when nothing can be pronounced."""
    starts: tuple[int, ...]
    """For each whitespace-separated written word, how many spoken words come before it."""


def verbalize(text: str) -> Verbalized:
    """Word numbers, abbreviations, links and the like as they are spoken in American English."""
    spans = spans_of(text, _RULES)
    spoken = pronounceable(_joined(text, spans, 0, len(text)))
    total = len(spoken.split())
    starts = tuple(min(total, _words_before(text, spans, each.start())) for each in _WORD.finditer(text))
    return Verbalized(spoken, starts)


def _joined(text: str, spans: list[Span], start: int, end: int) -> str:
    pieces, done = [], start
    for span in spans:
        if span.start < start or span.start >= end:
            continue
        pieces += [text[done : span.start], span.spoken]
        done = span.end
    return unicodedata.normalize("NFC", "".join([*pieces, text[done:end]]))


def _words_before(text: str, spans: list[Span], place: int) -> int:
    """How many spoken words come before a written place; a replaced part is shared out among its characters."""
    inside = next((span for span in spans if span.start < place < span.end), None)
    before = len(pronounceable(_joined(text, spans, 0, inside.start if inside else place)).split())
    if inside is None:
        return before
    return before + len(inside.spoken.split()) * (place - inside.start) // (inside.end - inside.start)


def _link_text(match: re.Match[str]) -> str:
    return verbalize(match[1]).spoken


_RULES = (
    rule(r"!?\[([^\]\n]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s\"[^\"]*\")?\)", _link_text),
    *ADDRESSES,
    *MARKUP,
    *CALENDAR,
    *AMOUNTS,
    *CODES,
    *ABBREVIATIONS,
    *CALCULATION,
    *REST,
)
"""In the order in which they are tried."""
