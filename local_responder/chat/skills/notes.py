"""Things to come back to: `notes(action, text?, due?, note_id?, query?)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.dates import said, wish_of
from local_responder.chat.skill import Arguments, Asked, Skill

_MOST = 5
"""Notes that are told."""
_CREATE = re.compile(
    r"^(?:please\s+)?(?:can you |could you )?"
    r"(?:(?:make|take|add|write|create|keep)(?: me)?(?: down)? an? note(?: for me)?|note(?: down)?)"
    r"(?:\s+(?:to|that|of|about)\b)?[\s:,]+(?P<rest>.+)$",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    r"\s+(?P<due>in (?:an?|half an|\w+)(?: and a half)? (?:minutes?|hours?|days?|weeks?))$", re.IGNORECASE
)
_SNOOZE = re.compile(r"\bsnooze\b|\bput (?:it|that|the .+ note) off\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|to)\s+(?P<until>.+)$|\bfor\s+(?P<length>.+)$", re.IGNORECASE)
_RESOLVE = re.compile(
    r"\b(?:resolve|mark|tick off|check off)\b|"
    r"(?:'s| is| has been)(?: all| already)? (?:done|finished|sorted|taken care of)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:the|my) (?P<words>[\w' -]+?) note\b|\bnote (?:about|on|to) (?P<about>[\w' -]+?)(?= (?:is|until|as)\b|$)",
    re.IGNORECASE,
)
_NOTES = re.compile(r"\bnotes?\b", re.IGNORECASE)


def _fits(sentence: str) -> bool:
    plain = _plain(sentence)
    return bool(_CREATE.search(plain) or _SNOOZE.search(plain) or _RESOLVE.search(plain) or _NOTES.search(plain))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    plain = _plain(asked.sentence)
    if made := _CREATE.search(plain):
        return [_new(made["rest"])]
    if not (_SNOOZE.search(plain) or _RESOLVE.search(plain)):
        return [{"action": "list"}]
    if _named(plain):
        return [{"action": "list", "query": _named(plain)}]
    change = _change(plain)
    return [change] if change else []


def _then(asked: Asked, result: Mapping[str, Any]) -> tuple[str, Arguments] | None:
    """The one note that was found is snoozed or resolved, if that was asked for."""
    plain, found = _plain(asked.sentence), result.get("notes")
    if not found or len(found) != 1 or _CREATE.search(plain) or not (_SNOOZE.search(plain) or _RESOLVE.search(plain)):
        return None
    change = _change(plain)
    return ("notes", change | {"note_id": found[0]["id"]}) if change else None


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "created" in result:
        return f"I have noted: {_line(result['created'])}."
    if "snoozed" in result:
        return f"All right, that can wait until {said(result['snoozed']['when'])}."
    if "resolved" in result:
        return f"Good, that is off your notes: {result['resolved']['text']}."
    notes = result["notes"]
    if _SNOOZE.search(asked.sentence) or _RESOLVE.search(_plain(asked.sentence)):
        return f"Which note do you mean? You have noted: {_lines(notes)}." if notes else "I find no such note."
    return f"You have noted: {_lines(notes)}." if notes else "You have no open notes."


def _new(rest: str) -> Arguments:
    """What is to be noted, and from when it is due."""
    if later := _FROM_NOW.search(rest):
        return {"action": "create", "text": rest[: later.start()], "due": later["due"]}
    wish = wish_of(f"add {rest}")
    due = " at ".join(filter(None, (wish.day, wish.hour)))
    text = wish.title if due and wish.title else rest
    return {"action": "create", "text": text} | ({"due": due} if due else {})


def _change(plain: str) -> Arguments:
    """Snoozing or resolving, but for the note; {} when it is not said until when."""
    if not _SNOOZE.search(plain):
        return {"action": "resolve"}
    until = _UNTIL.search(plain)
    if until is None:
        return {}
    return {"action": "snooze", "due": until["until"] or f"in {until['length']}"}


def _named(plain: str) -> str:
    found = _NAMED.search(plain)
    words = (found["words"] or found["about"]) if found else ""
    return "" if words.lower() in ("", "last", "open", "due") else words


def _lines(notes: list[Mapping[str, Any]]) -> str:
    more = f"; and {len(notes) - _MOST} more" if len(notes) > _MOST else ""
    return "; ".join(map(_line, notes[:_MOST])) + more


def _line(note: Mapping[str, Any]) -> str:
    return f"{note['text']}, for {said(note['when'])}" if "when" in note else str(note["text"])


def _plain(sentence: str) -> str:
    return sentence.strip(" .!?").replace("’", "'")


SKILL = Skill(
    tool=re.compile(r"^notes$"),
    fits=_fits,
    fill=_fill,
    missing="Until when?",
    word=_word,
    then=_then,
)
