"""Coordinating by rules: what is told of results that came in, and what is done about wishes. Pure.

The model is shown one JSON object, of `happened`, `before` and `tasks`: see the server's `background/digest`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from local_responder.chat.facts import recall
from local_responder.chat.skill import Asked

Calls = list[tuple[str, dict[str, Any]]]
NOTHING = "NOTHING"
SENTENCES = 3
"""Sentences told of one result."""
_ASKED_FOR = re.compile(r"You coordinate a user's long-running work\b")
_RESEARCH = re.compile(
    r"^(?:please\s+)?(?:research|look into|find out about|investigate)\s+(.+?)[.?!]*$", re.IGNORECASE
)
_CANCEL = re.compile(r"\b(?:cancel|stop|forget)\b.*\b(?:research|task|search)\b", re.IGNORECASE)
_PRAISE = re.compile(r"\b(?:great|well done|good job|love it)\b", re.IGNORECASE)
_COMPLAINT = re.compile(r"\b(?:too slow|too long|wrong|useless|annoying)\b", re.IGNORECASE)


def asked_to_coordinate(asked: Asked) -> bool:
    """Whether the model was told to."""
    return _ASKED_FOR.search(asked.known) is not None


def actions(asked: Asked) -> Calls:
    """What is to be done about what has happened."""
    shown = _shown(asked)
    calls: Calls = []
    for event in shown["happened"]:
        if "result" in event and "state" in event:
            calls.append(("summarize_task_result", {"task_id": event["task_id"], "summary": _gist(event)}))
        elif "input" in event:
            calls += _wishes(event, shown["tasks"])
    return calls


def decision(asked: Asked) -> str:
    """What is to be told of it."""
    told = [words for event in _shown(asked)["happened"] if (words := _told(event))]
    return " ".join(told) or NOTHING


def _wishes(event: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> Calls:
    words = event["input"].strip()
    if feeling := "praise" if _PRAISE.search(words) else "complaint" if _COMPLAINT.search(words) else "":
        return [("capture_feedback", {"feeling": feeling, "text": words[:200]})]
    if event.get("mode") != "api":
        return []  # whoever heard it has seen to it
    if _RESEARCH.match(words):
        return [("create_task", {"kind": "research", "instruction": words})]
    running = [task["id"] for task in tasks if task["state"] in ("queued", "running")]
    return [("cancel_task", {"task_id": running[0]})] if running and _CANCEL.search(words) else []


def _told(event: Mapping[str, Any]) -> str:
    if "input" in event:
        return _answer(event["input"].strip()) if event.get("mode") == "api" else ""
    if "state" not in event:
        return ""
    if event["state"] != "done":
        return f"I could not finish this: {_subject(event)}. {event['result']}"
    return f"I am done with this: {_subject(event)}. {_gist(event)}"


def _answer(words: str) -> str:
    if _PRAISE.search(words) or _COMPLAINT.search(words):
        return "Thank you, I have noted that."
    if subject := _RESEARCH.match(words):
        return f"I have begun to look into {subject[1]}."
    if _CANCEL.search(words):
        return "I have stopped that."
    return recall(words)


def _subject(event: Mapping[str, Any]) -> str:
    return str(event.get("instruction", "")).strip().rstrip(".?!")


def _gist(event: Mapping[str, Any]) -> str:
    """The first sentences of a result."""
    sentences = re.split(r"(?<=[.!?])\s+", str(event["result"]).strip())
    return " ".join(sentences[:SENTENCES])[:900] or "There is no answer."


def _shown(asked: Asked) -> dict[str, Any]:
    try:
        shown = json.loads(asked.sentence)
    except ValueError:
        shown = {}
    shown = shown if isinstance(shown, dict) else {}
    return {name: list(shown.get(name) or []) for name in ("happened", "before", "tasks")}
