"""New events: `calendar_create_event(title, start, …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.dates import said, wish_of
from local_responder.chat.reminding import about_reminders
from local_responder.chat.skill import Arguments, Asked, Skill, field_named


def _fits(sentence: str) -> bool:
    return wish_of(sentence).creates and not about_reminders(sentence)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    title, start = field_named(schema, "title", "summary"), field_named(schema, "start")
    wish = wish_of(asked.sentence)
    if title is None or start is None or not (wish.title and wish.hour):
        return []
    return [{title: wish.title[0].upper() + wish.title[1:], start: f"{wish.day or 'today'} at {wish.hour}"}]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    created = result["created"]
    return f"It is in your calendar: {created['title']}, {said(created['when'])}."


SKILL = Skill(
    tool=re.compile(r"calendar_create"),
    fits=_fits,
    fill=_fill,
    missing="What is it, on which day, and at what time?",
    word=_word,
)
