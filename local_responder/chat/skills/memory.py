"""What the user wants kept: `memory(action, …)`, `manage_prompt(action, …)`, and the mode, `get_personality()`.

To forget or drop something, it is looked for first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill
from local_responder.dialogue.keeping import Keeping, Wish, as_sentence, keeping, to_you

TOLD = 3
"""Memories told at once."""


def _wishes(*wishes: Wish) -> Callable[[str], bool]:
    return lambda sentence: (wish := keeping(sentence)) is not None and wish.wish in wishes


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    match keeping(asked.sentence):
        case Keeping(Wish.REMEMBER, about) if about:
            return [{"action": "create", "text": as_sentence(about)}]
        case Keeping(Wish.FORGET, about):
            return [{"action": "search", "query": about, "limit": 1}] if about else []
        case Keeping(Wish.RECALL, ""):
            return [{"action": "list", "limit": TOLD}]
        case Keeping(_, about):
            return [{"action": "search", "query": about}]
    return [{"action": "search", "query": asked.plain}]


def _then(asked: Asked, result: Result) -> tuple[str, Arguments] | None:
    if not _wishes(Wish.FORGET)(asked.sentence) or not result.get("memories"):
        return None
    return "memory", {"action": "delete", "memory_id": result["memories"][0]["id"]}


def _word(asked: Asked, result: Result) -> str:
    if "deleted" in result:
        return f"I have forgotten this: {to_you(result['deleted']['text'])}"
    if "memories" in result:
        told = " ".join(to_you(each["text"]) for each in result["memories"][:TOLD])
        return f"You told me: {told}" if told else "You have not told me anything about that."
    kept = result["created"] if "created" in result else result["memory"]
    return f"I will remember: {to_you(kept['text'])}"


def _fill_standing(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    match keeping(asked.sentence):
        case Keeping(Wish.FOLLOW, about) if about:
            return [{"action": "add", "text": as_sentence(about)}]
    return [{"action": "list"}]


def _drop(asked: Asked, result: Result) -> tuple[str, Arguments] | None:
    """The instruction that is to go: the one named, or the newest."""
    wish, kept = keeping(asked.sentence), result.get("instructions")
    if wish is None or wish.wish is not Wish.UNFOLLOW or not kept or "deleted" in result:
        return None
    wanted = _words(wish.about)
    chosen = max(enumerate(kept), key=lambda each: (len(wanted & _words(each[1]["text"])), each[0]))[1]
    return "manage_prompt", {"action": "delete", "instruction_id": chosen["id"]}


def _word_standing(asked: Asked, result: Result) -> str:
    if "added" in result:
        return f"All right, from now on: {result['added']}"
    if "deleted" in result:
        return f"All right, no longer: {result['deleted']}"
    told = " ".join(each["text"] for each in result["instructions"])
    return f"You have asked me for this: {told}" if told else "You have given me no standing instructions."


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _word_mode(asked: Asked, result: Result) -> str:
    described = result["description"] or f"My personality is {result['personality']}."
    return f"The mode {result['mode']} is on. {described}"


SKILLS = (
    Skill(r"^memory$", _wishes(Wish.REMEMBER, Wish.RECALL, Wish.FORGET), _fill, _word, "What should I forget?", _then),
    Skill(
        tool=r"^manage_prompt$",
        fits=_wishes(Wish.FOLLOW, Wish.UNFOLLOW, Wish.RULES),
        fill=_fill_standing,
        word=_word_standing,
        then=_drop,
    ),
    Skill(r"^get_personality$", _wishes(Wish.MANNER), lambda asked, schema: [{}], _word_mode),
)
