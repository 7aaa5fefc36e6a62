"""What the user wants remembered: `memory(action, …)`. To forget something, it is looked for first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill
from local_responder.dialogue.keeping import Keeping, Wish, as_sentence, keeping, to_you

TOLD = 3
"""Memories told at once."""


def _fits(sentence: str) -> bool:
    wish = keeping(sentence)
    return wish is not None and wish.wish in (Wish.REMEMBER, Wish.RECALL, Wish.FORGET)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    match keeping(asked.sentence):
        case Keeping(Wish.REMEMBER, about) if about:
            return [{"action": "create", "text": as_sentence(about)}]
        case Keeping(Wish.RECALL, about):
            return [{"action": "search", "query": about} if about else {"action": "list", "limit": TOLD}]
        case Keeping(Wish.FORGET, about) if about:
            return [{"action": "search", "query": about, "limit": 1}]
    return []


def _then(asked: Asked, result: Mapping[str, Any]) -> tuple[str, Arguments] | None:
    wish = keeping(asked.sentence)
    if wish is None or wish.wish is not Wish.FORGET or not result.get("memories"):
        return None
    return "memory", {"action": "delete", "memory_id": result["memories"][0]["id"]}


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "deleted" in result:
        return f"I have forgotten this: {to_you(result['deleted']['text'])}"
    if "memories" in result:
        told = " ".join(to_you(each["text"]) for each in result["memories"][:TOLD])
        return f"You told me: {told}" if told else "You have not told me anything about that."
    kept = result["created"] if "created" in result else result["memory"]
    return f"I will remember: {to_you(kept['text'])}"


SKILL = Skill(
    tool=re.compile(r"^memory$"),
    fits=_fits,
    fill=_fill,
    missing="What should I forget?",
    word=_word,
    then=_then,
)
