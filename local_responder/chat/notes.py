"""Notes of a caller: asked for a summary of a conversation as JSON, it lists what was asked, beside the old notes."""

from __future__ import annotations

import json
import re
from typing import Any

from local_responder.chat.skill import Asked

TOPICS_KEPT = 6
"""Questions named in the summary, the newest last."""
WORDS_KEPT = 12
"""Words kept of one question."""
_NOTES = re.compile(r"JSON object.*\"summary\".*\"facts\"", re.DOTALL)
_BEGAN = "Has asked: "


def notes(asked: Asked) -> str | None:
    """The notes as a JSON object, or None when something else is asked for."""
    if not _NOTES.search(asked.known):
        return None
    try:
        old, said = _data(asked.sentence)
        before = str(old["summary"]).removeprefix(_BEGAN).rstrip(".").split("; ") if old["summary"] else []
        new = [" ".join(line["text"].split()[:WORDS_KEPT]).strip(" .?!") for line in said if line["role"] == "caller"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    topics = [topic.replace(";", ",") for topic in dict.fromkeys([*before, *new]) if topic][-TOPICS_KEPT:]
    return json.dumps({"summary": f"{_BEGAN}{'; '.join(topics)}." if topics else "", "facts": []}, ensure_ascii=False)


def _data(text: str) -> tuple[Any, Any]:
    """The JSON values in a text, in order. Raises `ValueError` unless there are two."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while found := re.compile(r"^[{\[]", re.MULTILINE).search(text, at):
        value, at = decoder.raw_decode(text, found.start())
        values.append(value)
    if len(values) != 2:
        raise ValueError("not the notes and the conversation")
    return values[0], values[1]
