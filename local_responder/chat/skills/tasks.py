"""Long work in the background: `background_tasks(action)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill

_ABOUT = re.compile(r"\b(?:that|my|the|your|any)\b.*\b(?:research|tasks?|search|work)\b", re.IGNORECASE)
_CANCEL = re.compile(r"\b(?:cancel|stop|forget)\b", re.IGNORECASE)
_LIST = re.compile(r"\b(?:tasks|which|list|everything)\b", re.IGNORECASE)
SENTENCES = 3


def _fits(sentence: str) -> bool:
    return bool(_ABOUT.search(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    if _CANCEL.search(asked.sentence):
        return [{"action": "cancel"}]
    return [{"action": "list" if _LIST.search(asked.sentence) else "get"}]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "tasks" in result:
        told = [f"{_subject(task)}: {_state(task)}" for task in result["tasks"]]
        return f"{'; '.join(told)}." if told else "There is nothing in the background."
    if "outcome" in result:
        return (
            f"I have stopped this: {_subject(result)}." if result["outcome"] == "canceled" else "It was over already."
        )
    if result["state"] == "done":
        gist = " ".join(re.split(r"(?<=[.!?])\s+", result["result"].strip())[:SENTENCES])
        return f"About this: {_subject(result)}. {gist}"
    if result["state"] in ("queued", "running"):
        progress = f", {result['progress']}" if result.get("progress") else ""
        return f"I am still working on this: {_subject(result)}{progress}."
    return f"Nothing came of this: {_subject(result)}. {result.get('error') or 'It was stopped.'}"


def _subject(task: Mapping[str, Any]) -> str:
    return str(task["instruction"]).strip().rstrip(".?!")


def _state(task: Mapping[str, Any]) -> str:
    return {"queued": "waiting", "running": "at work", "canceled": "stopped"}.get(task["state"], str(task["state"]))


SKILL = Skill(
    tool=re.compile(r"background_tasks"),
    fits=_fits,
    fill=_fill,
    missing="Which task do you mean?",
    word=_word,
)
