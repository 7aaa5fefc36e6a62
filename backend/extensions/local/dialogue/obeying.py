"""A user's standing instructions, held to as far as rules can: how many sentences, and what to call them. Pure.

They stand in the instructions of a call and in a model's system prompt between the same marks, as a JSON list.
"""

from __future__ import annotations

import re

from backend.extensions.local.dialogue import wording

_MARKED = re.compile(r"<standing_instructions>\n(\[.*?\])\n</standing_instructions>", re.DOTALL)
_SENTENCES = re.compile(r"\b(?:(one|a single|1)|(two|2)|(three|3))(?: short)? sentences?\b", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:call|address) me (?:as )?(?P<name>[\w'-]+(?: [\w'-]+)?)\W*$", re.IGNORECASE)


def obeyed(words: str, instructions: str) -> str:
    """An answer as its listener wants it. A question that needs a yes or no stays whole."""
    if wording.YES_OR_NO in words:
        return words
    for wish in standing(instructions):
        if found := _SENTENCES.search(wish):
            words = wording.gist(words, found.lastindex or 1)
        if (found := _ADDRESS.search(wish)) and words and found["name"].lower() not in words.lower():
            first, *others = wording.sentences(words)
            closed = wording.closed(first)
            words = " ".join([f"{closed.rstrip('.?!')}, {found['name']}{closed[-1]}", *others])
    return words


def standing(instructions: str) -> list[str]:
    """The standing instructions, oldest first."""
    found = _MARKED.search(instructions)
    wishes = wording.read(found[1]) if found else []
    return [wish for wish in wishes if isinstance(wish, str)] if isinstance(wishes, list) else []
