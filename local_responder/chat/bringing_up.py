"""Notes that have come due: brought up after the answer, as the instructions ask. Pure."""

from __future__ import annotations

import json
import re

_DUE = re.compile(r"^Notes of the user's that are due\b.*\(data\):\n(\[.*\])$", re.MULTILINE)


def with_due_notes(answer: str, known: str) -> str:
    """The answer, and those of the notes in the instructions that it does not speak of yet."""
    found = _DUE.search(known)
    texts = [str(note["text"]).rstrip(".") for note in json.loads(found[1])] if found else []
    told = [text for text in texts if text.casefold() not in answer.casefold()]
    return f"{answer} By the way, you have noted: {'; '.join(told)}." if told else answer
