"""Reminders: `reminders(action, text, at, repeat)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.dates import said
from local_responder.chat.reminding import about_reminders, ahead_of, canceled_of, cancels, creates, reminding_of
from local_responder.chat.skill import Arguments, Asked, Skill

_MOST = 4
"""Reminders that are told."""


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    sentence = asked.sentence
    if cancels(sentence):
        return [{"action": "cancel", "text": canceled_of(sentence)}]
    if not creates(sentence):
        return [{"action": "list"}]
    wish = reminding_of(sentence)
    if not wish.text or not wish.at:
        return []
    return [{"action": "create", "text": wish.text, "at": wish.at, "repeat": wish.repeat}]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "reminders" in result:
        told = [f"{each['text']}, {_when(each)}" for each in result["reminders"][:_MOST]]
        return f"You have these reminders: {'; '.join(told)}." if told else "You have no reminders."
    if "canceled" in result:
        return f"I will not remind you of this any more: {result['canceled']['text']}."
    kept = result["set"]
    return f"I will remind you {ahead_of(asked.sentence) or _when(kept)}: {kept['text']}."


def _when(reminder: Mapping[str, Any]) -> str:
    """'on Friday, 27 November, at 15:00'; without a clock of the user's, how long it is until then."""
    if not reminder.get("when"):
        minutes = max(0, int(reminder["in_s"])) // 60
        return f"in {minutes} minutes" if minutes > 1 else "in a minute"
    again = "" if reminder["repeat"] == "none" else ", and again after that"
    return f"on {said(reminder['when'])}{again}"


SKILL = Skill(
    tool=re.compile(r"^reminders$"),
    fits=about_reminders,
    fill=_fill,
    missing="Of what shall I remind you, and when?",
    word=_word,
)
