"""Any other tool: takes the sentence for every text it requires, and tells the plain values it returns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill

_MOST = 5
"""Values that are told."""


def _fits(sentence: str) -> bool:
    return bool(sentence.strip())


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    properties, required = schema.get("properties") or {}, schema.get("required") or []
    if any(properties.get(name, {}).get("type") != "string" or "enum" in properties[name] for name in required):
        return []
    return [dict.fromkeys(required, asked.sentence)]


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    told = [
        f"{name.replace('_', ' ')}: {value}"
        for name, value in result.items()
        if isinstance(value, str | int | float) and name not in ("note", "sample")
    ]
    if not told:
        raise KeyError("no plain value")
    return f"{'; '.join(told[:_MOST]).capitalize()}."


SKILL = Skill(
    tool=re.compile(r"^(?!remember_)"),
    fits=_fits,
    fill=_fill,
    missing="I cannot fill in what that tool needs.",
    word=_word,
    last_resort=True,
)
