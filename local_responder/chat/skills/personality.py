"""The assistant's own mode: `get_personality(mode?)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill
from local_responder.dialogue.keeping import Wish, keeping


def _fits(sentence: str) -> bool:
    wish = keeping(sentence)
    return wish is not None and wish.wish is Wish.MANNER


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    return [{}]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    described = result["description"] or f"My personality is {result['personality']}."
    return f"The mode {result['mode']} is on. {described}"


SKILL = Skill(
    tool=re.compile(r"^get_personality$"),
    fits=_fits,
    fill=_fill,
    missing="",
    word=_word,
)
