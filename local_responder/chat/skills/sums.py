"""Word problems: the numbers of a sentence put into an expression, `calculate(expression)` does the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill
from local_responder.dialogue.names import digits

_N = r"\$?(\d+(?:\.\d+)?)"
_EACH = rf"\b{_N} [\w ]+? (?:costs?|for|at|are) {_N}\b.*?\b(?:each|apiece)\b"
_RULES: tuple[tuple[str, str, str], ...] = (
    # what a sentence says, the expression of its numbers, and how the value is told
    (rf"{_EACH}.*\bchange\b.*?\b(?:from|for|out of|with) (?:a )?{_N}", "{2} - {0} * {1}", "The change is {value}."),
    (_EACH, "{0} * {1}", "Together that is {value}."),
    (
        rf"\b{_N}\b.*?\b{_N} ?(?:percent|%) (?:off|discount|less|cheaper)",
        "{0} * (100 - {1}) / 100",
        "That leaves {value}.",
    ),
    (
        rf"\b{_N} (?:miles?|kilomet(?:er|re)s?|km) (?:per|an) hour\b.*?\b{_N} hours?\b",
        "{0} * {1}",
        "The distance is {value}.",
    ),
    (rf"\b(?:share|split|divide) {_N}\b.*?\b(?:among|between|by) {_N}", "{0} / {1}", "Each gets {value}."),
    (rf"\b{_N} ?(?:percent|%) of {_N}", "{1} * {0} / 100", "That is {value}."),
    *(
        (rf"\b{_N} (?:{words}) {_N}", f"{{0}} {sign} {{1}}", "That is {value}.")
        for words, sign in (("times|multiplied by|x", "*"), ("plus", "+"), ("minus", "-"), ("divided by|over", "/"))
    ),
)


def _read(sentence: str) -> tuple[str, str] | None:
    """The expression and the wording; None for a sentence that is no such problem."""
    plain = re.sub(r"\s+", " ", digits(sentence.lower()).replace(",", " "))
    for pattern, expression, words in _RULES:
        if found := re.search(pattern, plain):
            return expression.format(*found.groups()), words
    return None


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    problem = _read(asked.sentence)
    return [{"expression": problem[0]}] if problem else []


def _word(asked: Asked, result: Result) -> str:
    problem = _read(asked.sentence)
    return (problem[1] if problem else "That is {value}.").format(value=f"{result['value']:g}")


SKILLS = (Skill(r"^calculate$", _read, _fill, _word),)
