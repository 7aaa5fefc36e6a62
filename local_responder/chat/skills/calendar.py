"""The calendar: `calendar_create_event`, `…_list_events`, `…_update_event`, `…_delete_event`.

An event is found before it is moved or deleted. Days and hours are left as they were said: the tools read them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, field_named, listed
from local_responder.chat.skills.reminders import ABOUT
from local_responder.dialogue.times import Timed, said, timed

_VERB = re.compile(
    r"^(?P<verb>add|put|book|create|enter|schedule|set up|make|cancel|delete|remove|move|reschedule|change)\s+",
    re.IGNORECASE,
)
_ENTER = re.compile(
    r"^(?:i have|there is|i've got) (?P<what>.+?),? (?:put|add|enter|write) (?:it|that)\b.*$", re.IGNORECASE
)
_CALENDAR = re.compile(r"\s*\b(?:in|into|to|on|from)\s+(?:my|the)\s+(?:calendar|schedule)\b", re.IGNORECASE)
_TARGET = re.compile(r"\s+(?:to|until)\s+(?P<target>.+)$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|my)\s+", re.IGNORECASE)
_TODAY = re.compile(r"tonight|(?:in )?this (?:morning|afternoon|evening)", re.IGNORECASE)
_PART = re.compile(r" (?:morning|afternoon|evening|night)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be done with a calendar. Empty where the sentence does not say."""

    verb: str
    """add, delete or move; empty for a question."""
    title: str
    time: Timed
    target: str
    """Where an event is to be moved."""

    def span(self) -> dict[str, str]:
        """The days to look at: a week from today if none was said."""
        day = self.time.day.lower()
        if not day or _TODAY.fullmatch(day):
            return {"start": "today", "end": "today" if day else ""}
        if day.endswith("weekend"):
            return {"start": "saturday", "end": "sunday"}
        first = "next monday" if day == "next week" else _PART.sub("", self.time.day)
        return {"start": first, "end": "" if day == "next week" else first}


def wish_of(asked: Asked) -> Wish:
    """The sentence taken apart."""
    plain = _ENTER.sub(r"add \g<what>", asked.plain)
    verb = _VERB.match(plain)
    rest = _CALENDAR.sub("", plain[verb.end() :] if verb else plain)
    word = verb["verb"].lower() if verb else ""
    kind = {
        "cancel": "delete",
        "delete": "delete",
        "remove": "delete",
        "move": "move",
        "reschedule": "move",
        "change": "move",
    }
    target = _TARGET.search(rest) if kind.get(word) == "move" else None
    when = timed(rest[: target.start()] if target else rest)
    title = _ARTICLE.sub("", when.text.strip(" ,")) if verb else ""
    return Wish(kind.get(word, "add") if word else "", title, when, target["target"] if target else "")


def _creates(sentence: str) -> bool:
    return wish_of(Asked(sentence)).verb == "add" and not ABOUT(sentence)


def _lists(sentence: str) -> bool:
    return wish_of(Asked(sentence)).verb != "add" and not ABOUT(sentence)


def _create(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    wish = wish_of(asked)
    if not (wish.title and wish.time.hour):
        return []
    title = wish.title[0].upper() + wish.title[1:]
    start = f"{wish.time.day or 'today'} at {wish.time.hour}"
    return [{field_named(schema, "title", "summary"): title, field_named(schema, "start"): start}]


def _list(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    wish = wish_of(asked)
    wanted = wish.span() | {"query": wish.title}
    return [{name: value for name, value in wanted.items() if value and field_named(schema, name)}]


def _then(asked: Asked, result: Result) -> tuple[str, Arguments] | None:
    """The one event that was found is moved or deleted, if that was asked for."""
    wish, events = wish_of(asked), result.get("events") or []
    if len(events) != 1 or not (wish.verb == "delete" or wish.target):
        return None
    which = {name: events[0][name] for name in ("id", "occurrence") if name in events[0]}
    if wish.verb == "delete":
        return "calendar_delete_event", which
    return "calendar_update_event", which | {"start": new_start(wish.target, events[0]["start"])}


def new_start(target: str, start: str) -> str:
    """The moment an event is moved to, as the tools read it; `start` is its ISO moment so far."""
    day = timed(target).day
    hour = re.sub(rf"\b(?:on )?{re.escape(day)}\b" if day else r"(?!)", "", target).strip().removeprefix("at ").strip()
    date, _, clock = start.partition("T")
    return " at ".join(filter(None, (day or date, hour or clock[:5])))


def _word(asked: Asked, result: Result) -> str:
    wish, events = wish_of(asked), result["events"]
    told = listed(events, lambda event: f"{event['title']}, {said(event['when'])}")
    if wish.verb:
        return (
            f"Which one do you mean, and when should it be? There is {told}."
            if told
            else ("I find no such event in your calendar.")
        )
    return f"In your calendar: {told}." if told else "There is nothing in your calendar then."


def _word_change(asked: Asked, result: Result) -> str:
    if "deleted" in result:
        return "Done. It is no longer in your calendar."
    when = result["changed"].get("when")
    return f"Done. It is now on {said(when)}." if when else "Done. It is changed."


def _word_created(asked: Asked, result: Result) -> str:
    return f"It is in your calendar: {result['created']['title']}, {said(result['created']['when'])}."


SKILLS = (
    Skill(r"calendar_create", _creates, _create, _word_created, "What is it, on which day, and at what time?"),
    Skill(r"calendar_list", _lists, _list, _word, "Which day do you mean?", _then),
    Skill(r"calendar_(?:update|delete)", lambda sentence: False, lambda asked, schema: [], _word_change),
)
