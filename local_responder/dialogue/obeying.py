"""A user's standing instructions, held to as far as rules can: how many sentences, and what to call them. Pure.

They stand in the instructions of a call and in a model's system prompt between the same marks, as a JSON list.
"""

from __future__ import annotations

import json
import re

from local_responder.dialogue import wording

_MARKED = re.compile(r"<standing_instructions>\n(\[.*?\])\n</standing_instructions>", re.DOTALL)
_SENTENCES = re.compile(r"\b(one|a single|two|three|1|2|3)(?: short)? sentences?\b", re.IGNORECASE)
_COUNTS = {"one": 1, "a single": 1, "1": 1, "two": 2, "2": 2, "three": 3, "3": 3}
_ADDRESS = re.compile(r"\b(?:call|address) me (?:as )?(?P<name>[\w'-]+(?: [\w'-]+)?)\W*$", re.IGNORECASE)


def obeyed(words: str, instructions: str) -> str:
    """An answer as its listener wants it. A question that needs a yes or no stays whole."""
    if wording.YES_OR_NO in words:
        return words
    for wish in standing(instructions):
        if found := _SENTENCES.search(wish):
            words = " ".join(wording.sentences(words)[: _COUNTS[found[1].lower()]])
        if (found := _ADDRESS.search(wish)) and words:
            words = _addressed(words, found["name"])
    return words


def standing(instructions: str) -> list[str]:
    """The standing instructions, oldest first."""
    found = _MARKED.search(instructions)
    try:
        wishes = json.loads(found[1]) if found else []
    except ValueError:
        return []
    return [wish for wish in wishes if isinstance(wish, str)]


def _addressed(words: str, name: str) -> str:
    if name.lower() in words.lower():
        return words
    first, *others = wording.sentences(words)
    end = first[-1] if first[-1] in ".?!" else "."
    return " ".join([f"{first.rstrip('.?!')}, {name}{end}", *others])
