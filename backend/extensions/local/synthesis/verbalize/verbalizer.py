"""Text as it is written → the words that are spoken, and which of them belong to which written word. Pure.

    verbalize("It is 7:30 and 21 °C.").spoken == "It is seven thirty and twenty-one degrees Celsius."

The transcript that the caller sees stays the written text; only the sound is made of the spoken words.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from backend.extensions.local.synthesis.verbalize.abbreviations import ABBREVIATIONS
from backend.extensions.local.synthesis.verbalize.amounts import AMOUNTS
from backend.extensions.local.synthesis.verbalize.calendar import CALENDAR
from backend.extensions.local.synthesis.verbalize.codes import ADDRESSES, CODES
from backend.extensions.local.synthesis.verbalize.markup import CALCULATION, MARKUP, REST, pronounceable
from backend.extensions.local.synthesis.verbalize.spans import Span, rule, spans_of

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Verbalized:
    """The spoken form of a text."""

    spoken: str
    """Words and punctuation, no digits or symbols; '' when nothing can be pronounced."""
    starts: tuple[int, ...]
    """For each whitespace-separated written word, how many spoken words come before it."""


def verbalize(text: str) -> Verbalized:
    """Word numbers, abbreviations, links and the like as they are spoken in American English."""
    spans = spans_of(text, _RULES)
    return Verbalized(pronounceable(_joined(text, spans, 0, len(text))), tuple(_starts(text, spans)))


def _starts(text: str, spans: list[Span]) -> Iterator[int]:
    """For each written word, how many spoken words come before it; a replaced part is shared out by its characters."""
    begins = [span.start for span in spans]
    counted = words = 0
    for written in _WORD.finditer(text):
        place = written.start()
        inside = bisect_left(begins, place) - 1
        span = spans[inside] if inside >= 0 and place < spans[inside].end else None
        upto = span.start if span else place
        between = spans[bisect_left(begins, counted) : bisect_left(begins, upto)]
        words += len(pronounceable(_joined(text, between, counted, upto)).split())
        counted = upto
        shared = len(span.spoken.split()) * (place - span.start) // (span.end - span.start) if span else 0
        yield words + shared


def _joined(text: str, spans: list[Span], start: int, end: int) -> str:
    """The text from `start` to `end` with the spans in it spoken."""
    pieces, done = [], start
    for span in spans:
        pieces += [text[done : span.start], span.spoken]
        done = span.end
    return unicodedata.normalize("NFC", "".join([*pieces, text[done:end]]))


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
"""All rules, in the order in which they are tried."""
