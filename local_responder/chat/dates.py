"""What a sentence about a calendar says: the event, the day, the hour, and where it is to be moved. Pure.

Days and hours are left as they were said: the calendar's tools read them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_VERBS = r"add|put|book|create|enter|schedule|set up|cancel|delete|remove|move|reschedule|change"
_VERB = re.compile(rf"^(?:yes\W+)?(?:please\s+)?(?:can you |could you )?(?P<verb>{_VERBS})\s+", re.IGNORECASE)
_CALENDAR = re.compile(r"\s*\b(?:in|into|to|on|from)\s+(?:my|the)\s+(?:calendar|schedule)\b", re.IGNORECASE)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = re.compile(
    rf"\b(?:(?:for|on)\s+)?(?P<day>today|tonight|tomorrow|this (?:morning|afternoon|evening|weekend)|next week|"
    rf"(?:(?:this|next)\s+)?{_WEEKDAY}|\d{{4}}-\d\d-\d\d|"
    r"(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december))\b",
    re.IGNORECASE,
)
_HOUR = re.compile(
    r"\b(?:at|for)\s+(?P<hour>(?:half past |quarter (?:past|to) )?(?:noon|midnight|\d|[a-z]+ ?o'clock|"
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b).*)$",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\s+(?:to|until)\s+(?P<target>.+)$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|my)\s+", re.IGNORECASE)
_PARTS_OF_TODAY = re.compile(r"tonight|this (?:morning|afternoon|evening)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done with a calendar. Empty where the sentence does not say."""

    verb: str
    """Lower case; empty for a question."""
    title: str
    day: str
    hour: str
    target: str
    """Where an event is to be moved."""

    @property
    def creates(self) -> bool:
        """Whether an event is to be put in."""
        return bool(self.verb) and not self.deletes and not self.moves

    @property
    def deletes(self) -> bool:
        """Whether an event is to be taken out."""
        return self.verb in ("cancel", "delete", "remove")

    @property
    def moves(self) -> bool:
        """Whether an event is to be at another time."""
        return self.verb in ("move", "reschedule", "change")

    @property
    def first_day(self) -> str:
        """The day from which to look; today if none was said."""
        if not self.day or _PARTS_OF_TODAY.fullmatch(self.day):
            return "today"
        return {"this weekend": "saturday", "next week": "next monday"}.get(self.day.lower(), self.day)

    @property
    def last_day(self) -> str:
        """The day until which to look; empty for a week."""
        if not self.day or self.day.lower() == "next week":
            return ""
        return "sunday" if self.day.lower() == "this weekend" else self.first_day


def wish_of(sentence: str) -> Wish:
    """The sentence taken apart."""
    rest = sentence.strip(" .!?")
    verb = _VERB.match(rest)
    rest = rest[verb.end() :] if verb else rest
    rest = _CALENDAR.sub("", rest)
    word = re.sub(r"\s.*", "", verb["verb"].lower()) if verb else ""
    target = _TARGET.search(rest) if word in ("move", "reschedule", "change") else None
    rest = rest[: target.start()] if target else rest
    hour = _HOUR.search(rest)
    rest = rest[: hour.start()] if hour else rest
    said_hour = hour["hour"] if hour else ""
    day = _DAY.search(rest) or _DAY.search(said_hour)
    rest = _DAY.sub("", rest)
    return Wish(
        verb=word,
        title=_ARTICLE.sub("", rest.strip(" ,")).strip() if verb else "",
        day=day["day"] if day else "",
        hour=_DAY.sub("", said_hour).strip(),
        target=target["target"] if target else "",
    )


def new_start(target: str, start: str) -> str:
    """The moment an event is moved to, as the tools read it; `start` is its ISO moment so far."""
    day, hour = _DAY.search(target), _DAY.sub("", target).strip().removeprefix("at ").strip()
    date, _, clock = start.partition("T")
    return f"{day['day'] if day else date} at {hour or clock[:5]}" if hour or clock else (day["day"] if day else target)


def said(when: str) -> str:
    """'Sunday, 22 November 2026, 12:00' as one says it."""
    return re.sub(r",? \d{4}(?:, (?=\d))?", lambda found: ", at " if "," in found[0].lstrip(",") else "", when)
