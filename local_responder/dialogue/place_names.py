"""Finding places in a sentence, spoken or typed. Pure.

What the ears heard is trusted only as far as a known place reaches ("in seattle on" is Seattle); what was typed may
name any place at all.
"""

from __future__ import annotations

import re

from local_responder.dialogue.places import PLACES

_KNOWN = {place.lower(): place for place in PLACES}
_ANY_KNOWN = re.compile(
    r"\b(" + "|".join(sorted(map(re.escape, _KNOWN), key=len, reverse=True)) + r")\b(?!,)", re.IGNORECASE
)
_AFTER_PREPOSITION = re.compile(r"(?:\b(?:in|for|at|near|around)|\b(?:what|how) about)\s+(?P<rest>.+)$", re.IGNORECASE)
_TAIL = re.compile(
    r"[\s,]*\b(?:please|today|tonight|tomorrow|now|right now|currently|later|(?:this|next) \w+|(?:on |at )?the weekend|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:in |at )?(?:celsius|fahrenheit|the \w+)|be|like)[\s?.!,]*$",
    re.IGNORECASE,
)
_NOT_A_PLACE = re.compile(
    r"^(?:the|a|an|my|your|it|this|that|here|there|general|celsius|fahrenheit|now|weather|\d.*)\b", re.IGNORECASE
)


def places_in(sentence: str) -> list[str]:
    """The places a sentence names, in its order, as one writes them; [] when there is none."""
    clean = _without_tail(sentence)
    match = _AFTER_PREPOSITION.search(clean)
    named = (
        [place for part in re.split(r"\s+and\s+(?:in\s+)?", match["rest"]) if (place := _place(part))] if match else []
    )
    return named or [_KNOWN[each.lower()] for each in _ANY_KNOWN.findall(clean)]


def _place(words: str) -> str | None:
    words = words.strip(" \t?.!,;:\"'")
    known = _ANY_KNOWN.match(words)
    if known:
        return _KNOWN[known[1].lower()]
    if not words or _NOT_A_PLACE.match(words) or len(words) > 60:
        return None
    return words if any(letter.isupper() for letter in words) else words.title()


def _without_tail(sentence: str) -> str:
    """Drop the words of time and politeness that may follow a place, however many."""
    clean = sentence.strip(" ?.!")
    while (shorter := _TAIL.sub("", clean)) != clean:
        clean = shorter
    return clean
