"""Events moved and deleted: never the first step, since the event has to be found before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.dates import said
from local_responder.chat.skill import Arguments, Asked, Skill


def _fits(sentence: str) -> bool:
    return False


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    return []


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    if "deleted" in result:
        return "Done. It is no longer in your calendar."
    when = result["changed"].get("when")
    return f"Done. It is now on {said(when)}." if when else "Done. It is changed."


SKILL = Skill(
    tool=re.compile(r"calendar_(?:update|delete)"),
    fits=_fits,
    fill=_fill,
    missing="Which event do you mean?",
    word=_word,
)
