"""Small tasks that the server sets a model apart from answering: notes of a caller, a choice of tools, due notes. Pure.

Each is recognised by the prompt that sets it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from local_responder.chat.skill import Asked, skill_for
from local_responder.dialogue.routing import words_of

TOPICS_KEPT = 6
"""Questions named in the notes, the newest last."""
WORDS_KEPT = 12
"""Words kept of one question."""
_DUE = re.compile(r"^Notes of the user's that are due\b.*\(data\):\n(\[.*\])$", re.MULTILINE)
_CHOICE = re.compile(r"\bYou choose tools\b.*\bJSON list\b.*^Catalogue \(data\):\s*(?=\{)", re.DOTALL | re.MULTILINE)
_NOTES = re.compile(r"JSON object.*\"summary\".*\"facts\"", re.DOTALL)
_BEGAN = "Has asked: "


def with_due_notes(answer: str, known: str) -> str:
    """The answer, and those of the notes in the instructions that it does not speak of yet."""
    found = _DUE.search(known)
    texts = [str(note["text"]).rstrip(".") for note in json.loads(found[1])] if found else []
    told = [text for text in texts if text.casefold() not in answer.casefold()]
    return f"{answer} By the way, you have noted: {'; '.join(told)}." if told else answer


def chosen(asked: Asked) -> str | None:
    """Asked which of a catalogue of tools an answer could need: a JSON list; None when something else is asked."""
    if (match := _CHOICE.search(asked.known)) is None:
        return None
    catalogue, _ = _decoded(asked.known, match.end())
    return json.dumps([name for name, told in catalogue.items() if _called_for(name, told, asked.sentence)])


def notes(asked: Asked) -> str | None:
    """Asked for a summary of a conversation: what was asked, beside the old notes; else None."""
    if not _NOTES.search(asked.known):
        return None
    try:
        old, end = _decoded(asked.sentence, 0)
        said, _ = _decoded(asked.sentence, end)
        before = str(old["summary"]).removeprefix(_BEGAN).rstrip(".").split("; ") if old["summary"] else []
        new = [" ".join(line["text"].split()[:WORDS_KEPT]).strip(" .?!") for line in said if line["role"] == "caller"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    topics = [topic.replace(";", ",") for topic in dict.fromkeys([*before, *new]) if topic][-TOPICS_KEPT:]
    return json.dumps({"summary": f"{_BEGAN}{'; '.join(topics)}." if topics else "", "facts": []}, ensure_ascii=False)


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The next JSON value that begins a line, and where it ends. Raises `ValueError` when there is none."""
    found = re.compile(r"^[{\[]", re.MULTILINE).search(text, at)
    if found is None:
        raise ValueError("no JSON value")
    return json.JSONDecoder().raw_decode(text, found.start())


def _called_for(name: str, told: Any, sentence: str) -> bool:
    """By the skill that uses the tool; else by a word that sentence and tool share."""
    skill = skill_for(name)
    if skill is not None and not skill.last_resort:
        return bool(skill.fits(sentence))
    return bool(words_of(sentence) & words_of(f"{name.replace('_', ' ')} {told}"))
