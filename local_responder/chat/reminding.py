"""What a sentence about reminders says: of what to remind, when, how often. Pure.

Times are left as they were said: the tool reads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ABOUT = re.compile(r"\bremind me\b|\breminders?\b", re.IGNORECASE)
_NUMBER = (
    r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|(?:twenty|thirty|forty|fifty)"
    r"(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_AHEAD = (
    rf"in (?:about )?(?:half an hour|{_NUMBER} (?:second|minute|hour|day|week)s?"
    rf"(?: and (?:a half|{_NUMBER} (?:second|minute|hour)s?))?)"
)
_DAY = (
    r"(?:on )?(?:(?:this|next) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tonight|tomorrow|"
    r"this (?:morning|afternoon|evening)"
)
_HOUR = (
    rf"at (?:(?:half past|quarter (?:past|to)) )?(?:noon|midnight|{_NUMBER}(?:[: ](?:\d\d|fifteen|thirty|forty five))?)"
    r"(?: o'clock)?(?: ?[ap]\.?m\b\.?| in the (?:morning|afternoon|evening))?"
)
_EVERY = r"every (?:day|weekday|morning|evening|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_WHEN = rf"(?:{_AHEAD}|{_EVERY},? (?:{_HOUR})|(?:{_DAY})(?:,? {_HOUR})?|{_HOUR}(?:,? (?:{_DAY}|{_EVERY}))?)"
_JOINED = r"(?:to|of|about|that|and)"
_LEADING = re.compile(rf"^(?P<when>{_WHEN}),? {_JOINED} (?P<what>.+)$", re.IGNORECASE)
_TRAILING = re.compile(rf"^{_JOINED} (?P<what>.+?),? (?P<when>{_WHEN})$", re.IGNORECASE)
_BEGINS = re.compile(r"^.*?\bremind me\s+", re.IGNORECASE)
_CANCELS = re.compile(r"\b(?:cancel|delete|remove|forget|stop|drop)\b", re.IGNORECASE)
_CANCELED = re.compile(r"\breminders?\s+(?:about|of|to|for)\s+(?:the\s+|my\s+)?(?P<what>.+)$", re.IGNORECASE)
_REPEATS = {"day": "daily", "morning": "daily", "evening": "daily", "weekday": "weekdays", "week": "weekly",
            "month": "monthly", "year": "yearly"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reminding:
    """What is to be reminded of, at a time as it was said; empty where the sentence does not say."""

    text: str
    at: str
    repeat: str


def about_reminders(sentence: str) -> bool:
    """Whether it is about reminders at all."""
    return _ABOUT.search(sentence) is not None


def creates(sentence: str) -> bool:
    """Whether one is to be set."""
    return _BEGINS.search(sentence) is not None


def cancels(sentence: str) -> bool:
    """Whether one is to be called off."""
    return not creates(sentence) and _CANCELS.search(sentence) is not None


def reminding_of(sentence: str) -> Reminding:
    """The sentence taken apart."""
    rest = _BEGINS.sub("", sentence.strip(" .!?"))
    found = _LEADING.match(rest) or _TRAILING.match(rest)
    if found is None:
        return Reminding("", "", "none")
    at, repeat = _repeating(found["when"])
    return Reminding(found["what"].strip(" ,"), at, repeat)


def canceled_of(sentence: str) -> str:
    """Words of the one to be called off; empty: the only one there is."""
    found = _CANCELED.search(sentence.strip(" .!?"))
    return found["what"].strip() if found else ""


def ahead_of(sentence: str) -> str:
    """'in ten minutes', if that is how the time was said."""
    at = reminding_of(sentence).at
    return at if at.lower().startswith("in ") else ""


def _repeating(when: str) -> tuple[str, str]:
    """The time without what says how often, and how often."""
    found = re.search(r",?\s*\bevery (?P<unit>\w+),?", when, re.IGNORECASE)
    if found is None:
        return when, "none"
    unit = found["unit"].lower()
    at = f"{when[: found.start()]} {when[found.end() :]}".strip()
    if unit in _REPEATS:
        part = f" in the {unit}" if unit in ("morning", "evening") else ""
        return f"{at}{part}", _REPEATS[unit]
    return f"{unit} {at}", "weekly"
