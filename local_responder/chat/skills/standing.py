"""How the user wants to be answered from now on: `manage_prompt(action, …)`. To drop one, they are listed first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill
from local_responder.dialogue.keeping import Keeping, Wish, as_sentence, keeping


def _fits(sentence: str) -> bool:
    wish = keeping(sentence)
    return wish is not None and wish.wish in (Wish.FOLLOW, Wish.UNFOLLOW, Wish.RULES)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    match keeping(asked.sentence):
        case Keeping(Wish.FOLLOW, about) if about:
            return [{"action": "add", "text": as_sentence(about)}]
    return [{"action": "list"}]


def _then(asked: Asked, result: Mapping[str, Any]) -> tuple[str, Arguments] | None:
    """The instruction that is to go: the one named, or the newest."""
    wish, kept = keeping(asked.sentence), result.get("instructions")
    if wish is None or wish.wish is not Wish.UNFOLLOW or not kept or "deleted" in result:
        return None
    wanted = _words(wish.about)
    chosen = max(enumerate(kept), key=lambda each: (len(wanted & _words(each[1]["text"])), each[0]))[1]
    return "manage_prompt", {"action": "delete", "instruction_id": chosen["id"]}


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "added" in result:
        return f"All right, from now on: {result['added']}"
    if "deleted" in result:
        return f"All right, no longer: {result['deleted']}"
    told = " ".join(each["text"] for each in result["instructions"])
    return f"You have asked me for this: {told}" if told else "You have given me no standing instructions."


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


SKILL = Skill(
    tool=re.compile(r"^manage_prompt$"),
    fits=_fits,
    fill=_fill,
    missing="How should I answer from now on?",
    word=_word,
    then=_then,
)
