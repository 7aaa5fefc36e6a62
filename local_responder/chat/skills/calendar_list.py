"""What is on: `calendar_list_events(start, end, query)`; also the first step of moving or deleting an event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.dates import new_start, said, wish_of
from local_responder.chat.reminding import about_reminders
from local_responder.chat.skill import Arguments, Asked, Skill, field_named

_MOST = 4
"""Events that are told."""


def _fits(sentence: str) -> bool:
    return not (wish_of(sentence).creates or about_reminders(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    wish = wish_of(asked.sentence)
    wanted = {"start": wish.first_day, "end": wish.last_day, "query": wish.title}
    return [{name: value for name, value in wanted.items() if value and field_named(schema, name)}]


def _then(asked: Asked, result: Mapping[str, Any]) -> tuple[str, Arguments] | None:
    """The one event that was found is moved or deleted, if that was asked for."""
    wish, events = wish_of(asked.sentence), result.get("events") or []
    if len(events) != 1 or not (wish.deletes or (wish.moves and wish.target)):
        return None
    which = {name: events[0][name] for name in ("id", "occurrence") if name in events[0]}
    if wish.deletes:
        return "calendar_delete_event", which
    return "calendar_update_event", which | {"start": new_start(wish.target, events[0]["start"])}


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    wish, events = wish_of(asked.sentence), result["events"]
    if not events:
        return "I find no such event in your calendar." if wish.verb else "There is nothing in your calendar then."
    told = "; ".join(f"{event['title']}, {said(event['when'])}" for event in events[:_MOST])
    if wish.verb:
        return f"Which one do you mean, and when should it be? There is {told}."
    return f"In your calendar: {told}." + (f" And {len(events) - _MOST} more." if len(events) > _MOST else "")


SKILL = Skill(
    tool=re.compile(r"calendar_list"),
    fits=_fits,
    fill=_fill,
    missing="Which day do you mean?",
    word=_word,
    then=_then,
)
