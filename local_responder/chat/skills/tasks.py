"""Long work in the background: `background_tasks(action)`."""

from __future__ import annotations

import re
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, filled, having, listed

_FORMS: tuple[tuple[str, Arguments], ...] = (
    (r"\b(?:cancel|stop|forget)\b", {"action": "cancel"}),
    (r"\b(?:tasks|which|list|everything|in the background)\b", {"action": "list"}),
    (r"", {"action": "get"}),
)
_STATES = {"queued": "waiting", "running": "at work", "canceled": "stopped"}
SENTENCES = 3


def _word(asked: Asked, result: Result) -> str:
    if "tasks" in result:
        told = listed(result["tasks"], lambda task: f"{_subject(task)}: {_STATES.get(task['state'], task['state'])}", 9)
        return f"{told}." if told else "There is nothing in the background."
    subject = _subject(result)
    if "outcome" in result:
        return f"I have stopped this: {subject}." if result["outcome"] == "canceled" else "It was over already."
    if result["state"] == "done":
        gist = " ".join(re.split(r"(?<=[.!?])\s+", result["result"].strip())[:SENTENCES])
        return f"About this: {subject}. {gist}"
    if result["state"] in ("queued", "running"):
        progress = f", {result['progress']}" if result.get("progress") else ""
        return f"I am still working on this: {subject}{progress}."
    return f"Nothing came of this: {subject}. {result.get('error') or 'It was stopped.'}"


def _subject(task: Any) -> str:
    return str(task["instruction"]).strip().rstrip(".?!")


SKILLS = (
    Skill(
        tool=r"background_tasks",
        fits=having(r"\b(?:that|my|the|your|any)\b.*\b(?:research|tasks?|search|work)\b"),
        fill=lambda asked, schema: [filled(asked.plain, _FORMS) or {}],
        word=_word,
    ),
)
