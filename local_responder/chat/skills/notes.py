"""Things to come back to: `notes(action, text?, due?, note_id?, query?)`. A named note is found, and then changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, having, listed
from local_responder.dialogue.times import said, timed

_CREATE = re.compile(
    r"^(?:(?:make|take|add|write|create|keep|jot)(?: me)?(?: down)? an? (?:note|idea)(?: for me)?|"
    r"(?:write|jot|note|take)(?: this)? down(?: an idea)?|note)(?:\s+(?:to|that|of|about)\b)?[\s:,]+(?P<rest>.+)$",
    re.IGNORECASE,
)
_SNOOZE = having(r"\bsnooze\b|\bput (?:it|that|the .+ note) off\b|\bput off\b")
_UNTIL = re.compile(r"\b(?:until|till|to)\s+(?P<until>.+)$|\bfor\s+(?P<length>.+)$", re.IGNORECASE)
_RESOLVE = having(
    r"\b(?:resolve|mark|tick off|check off)\b",
    r"(?:'s| is| has been)(?: all| already)? (?:done|finished|sorted|taken care of)\b",
)
_NAMED = re.compile(
    r"\b(?:the|my) (?!last|open|due)(?P<words>[\w' -]+?) note\b|"
    r"\bnote (?:about|on|to) (?P<about>[\w' -]+?)(?= (?:is|until|as)\b|$)",
    re.IGNORECASE,
)


def _fits(sentence: str) -> bool:
    plain = Asked(sentence).plain
    return bool(
        _CREATE.match(plain) or _SNOOZE(plain) or _RESOLVE(plain) or re.search(r"\bnotes?\b", plain, re.IGNORECASE)
    )


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    if made := _CREATE.match(asked.plain):
        wish = timed(made["rest"])
        due = {"due": wish.moment} if wish.when and wish.text else {}
        return [{"action": "create", "text": wish.text if due else made["rest"], **due}]
    if (change := _change(asked.plain)) is None:
        return [{"action": "list"}]
    named = _NAMED.search(asked.plain)
    return [{"action": "list", "query": named["words"] or named["about"]}] if named else [change] if change else []


def _change(plain: str) -> Arguments | None:
    """Snoozing or resolving, but for the note; {} when it is not said until when, None for anything else."""
    if _SNOOZE(plain):
        until = _UNTIL.search(plain)
        return {"action": "snooze", "due": until["until"] or f"in {until['length']}"} if until else {}
    return {"action": "resolve"} if _RESOLVE(plain) else None


def _then(asked: Asked, result: Result) -> tuple[str, Arguments] | None:
    """The one note that was found is snoozed or resolved, if that was asked for."""
    found, change = result.get("notes"), _change(asked.plain)
    if not found or len(found) != 1 or not change or _CREATE.match(asked.plain):
        return None
    return "notes", change | {"note_id": found[0]["id"]}


def _word(asked: Asked, result: Result) -> str:
    if "created" in result:
        return f"I have noted: {_line(result['created'])}."
    if "snoozed" in result:
        return f"All right, that can wait until {said(result['snoozed']['when'])}."
    if "resolved" in result:
        return f"Good, that is off your notes: {result['resolved']['text']}."
    told = listed(result["notes"], _line, 5)
    if _change(asked.plain) is not None:
        return f"Which note do you mean? You have noted: {told}." if told else "I find no such note."
    return f"You have noted: {told}." if told else "You have no open notes."


def _line(note: Result) -> str:
    return f"{note['text']}, for {said(note['when'])}" if "when" in note else str(note["text"])


SKILLS = (Skill(r"^notes$", _fits, _fill, _word, "Until when?", _then),)
