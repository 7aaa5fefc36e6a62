"""Word problems by rules: the numbers of a sentence put into an expression, `calculate(expression)` does the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named
from local_responder.dialogue.numbers import digits

_N = r"\$?(\d+(?:\.\d+)?)"
_RULES: tuple[tuple[str, Callable[[re.Match[str]], str], str], ...] = (
    # what a sentence says, the expression it means, and how the value is told
    (
        rf"\b{_N} [\w ]+? (?:costs?|for|at|are) {_N}\b.*?\beach\b.*\bchange\b.*?\b(?:from|for|out of|with) (?:a )?{_N}",
        lambda m: f"{m[3]} - {m[1]} * {m[2]}",
        "The change is {value}.",
    ),
    (
        rf"\b{_N} [\w ]+? (?:costs?|for|at|are) {_N}\b.*?\b(?:each|apiece)\b",
        lambda m: f"{m[1]} * {m[2]}",
        "Together that is {value}.",
    ),
    (
        rf"\b{_N} (?:miles?|kilomet(?:er|re)s?|km) (?:per|an) hour\b.*?\b{_N} hours?\b",
        lambda m: f"{m[1]} * {m[2]}",
        "The distance is {value}.",
    ),
    (
        rf"\b(?:share|split|divide) {_N}\b.*?\b(?:among|between|by) {_N}",
        lambda m: f"{m[1]} / {m[2]}",
        "Each gets {value}.",
    ),
    (rf"\b{_N} ?(?:percent|%) of {_N}", lambda m: f"{m[2]} * {m[1]} / 100", "That is {value}."),
    (rf"\b{_N} (?:times|multiplied by) {_N}", lambda m: f"{m[1]} * {m[2]}", "That is {value}."),
    (rf"\b{_N} plus {_N}", lambda m: f"{m[1]} + {m[2]}", "That is {value}."),
    (rf"\b{_N} minus {_N}", lambda m: f"{m[1]} - {m[2]}", "That is {value}."),
    (rf"\b{_N} divided by {_N}", lambda m: f"{m[1]} / {m[2]}", "That is {value}."),
)


def _read(sentence: str) -> tuple[str, str] | None:
    """The expression and the wording; None for a sentence that is no such problem."""
    plain = digits(sentence.lower()).replace(",", " ")
    plain = re.sub(r"\s+", " ", plain)
    for pattern, expression, words in _RULES:
        if found := re.search(pattern, plain):
            return expression(found), words
    return None


def _fits(sentence: str) -> bool:
    return _read(sentence) is not None


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    name, problem = field_named(schema, "expression"), _read(asked.sentence)
    return [{name: problem[0]}] if name and problem else []


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    problem = _read(asked.sentence)
    words = problem[1] if problem else "That is {value}."
    return words.format(value=f"{result['value']:,g}".replace(",", ""))


SKILL = Skill(
    tool=re.compile(r"^calculate$"),
    fits=_fits,
    fill=_fill,
    missing="I need the numbers to reckon with.",
    word=_word,
)
