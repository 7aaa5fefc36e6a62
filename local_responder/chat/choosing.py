"""Choosing tools by rules: asked which of a catalogue an answer could need, it names those the words call for. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from local_responder.chat.skill import Asked, skill_for

_ASKED = re.compile(r"\bYou choose tools\b.*\bJSON list\b.*^Catalogue \(data\):\s*(?=\{)", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"[a-z]{3,}")
_COMMON = frozenset(
    {"the", "and", "for", "with", "from", "that", "this", "what", "which", "when", "where", "who", "how"}
    | {"are", "was", "has", "have", "can", "does", "its", "any", "all"}
)


def chosen(asked: Asked) -> str | None:
    """The names as a JSON list, or None when something else is asked for."""
    match = _ASKED.search(asked.known)
    if match is None:
        return None
    try:
        catalogue, _ = json.JSONDecoder().raw_decode(asked.known, match.end())
    except ValueError:
        return None
    return json.dumps([name for name, told in catalogue.items() if _called_for(name, told, asked.sentence)])


def _called_for(name: str, told: Any, sentence: str) -> bool:
    """By the skill that uses the tool; else by a word that sentence and tool share."""
    skill = skill_for(name)
    if skill is not None and not skill.last_resort:
        return skill.fits(sentence)
    return bool(_words(sentence) & _words(f"{name.replace('_', ' ')} {told}"))


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in _WORD.findall(text.lower())} - _COMMON
