"""A specialist's answer: `route_to_thinker(domain, query)`. Whom to ask is decided in `conversing`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Asked, Skill


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    return str(result["answer"])


SKILL = Skill(
    tool=re.compile(r"^route_to_"),
    fits=lambda sentence: False,
    fill=lambda asked, schema: [],
    missing="",
    word=_word,
)
