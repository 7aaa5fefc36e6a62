"""Reminders: `reminders(action, text, at, repeat)`. Times are left as they were said: the tool reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, having, listed
from local_responder.dialogue.times import said, timed

ABOUT = having(r"\bremind me\b|\breminders?\b|\blet me forget\b")
_CREATES = re.compile(
    r"^.*?\b(?:remind me|(?:need|set|want|create|make)(?: me)? a reminder|let me forget)\b"
    r"(?:\s+(?:to|of|about|that|for|and)\b)?\s*",
    re.IGNORECASE,
)
_CANCELS = having(r"\b(?:cancel|delete|remove|forget|stop|drop|get rid of)\b")
_CANCELED = re.compile(r"\breminders?\s+(?:about|of|to|for)\s+(?:the\s+|my\s+)?(?P<what>.+)$", re.IGNORECASE)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    if not (created := _CREATES.match(asked.plain)):
        if not _CANCELS(asked.plain):
            return [{"action": "list"}]
        found = _CANCELED.search(asked.plain)
        return [{"action": "cancel", "text": found["what"].strip() if found else ""}]
    wish = timed(asked.plain)
    text, (at, repeat) = _CREATES.sub("", wish.text + " ").strip(" ,"), wish.once
    return [{"action": "create", "text": text, "at": at, "repeat": repeat}] if text and at and created else []


def _word(asked: Asked, result: Result) -> str:
    if "reminders" in result:
        told = listed(result["reminders"], lambda each: f"{each['text']}, {_when(each)}")
        return f"You have these reminders: {told}." if told else "You have no reminders."
    if "canceled" in result:
        return f"I will not remind you of this any more: {result['canceled']['text']}."
    at = timed(asked.plain).when
    return f"I will remind you {at if at.lower().startswith('in ') else _when(result['set'])}: {result['set']['text']}."


def _when(reminder: Result) -> str:
    """'on Friday, 27 November, at 15:00'; without a clock of the user's, how long it is until then."""
    if not reminder.get("when"):
        minutes = max(0, int(reminder["in_s"])) // 60
        return f"in {minutes} minutes" if minutes > 1 else "in a minute"
    return f"on {said(reminder['when'])}" + ("" if reminder["repeat"] == "none" else ", and again after that")


SKILLS = (Skill(r"^reminders$", ABOUT, _fill, _word, "Of what shall I remind you, and when?"),)
