"""Numbers in a sentence: a word problem as an expression, and the inputs of a clinical score. Pure.

Findings that are true or false are left to a real model: what a sentence does not mention is not the same as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from backend.extensions.local.dialogue.names import digits

Scores = Mapping[str, tuple[str, ...]]
"""The clinical scores there are, each with the names of its inputs."""

_N = r"(\d+(?:\.\d+)?)"
_M = rf"\$?{_N}"
_SPEED = r"(?:(?:miles?|kilometers?|km) (?:per|an) hour|mph|km/h)\b"
_EACH = rf"\b{_M} [\w ]+? (?:costs?|for|at|are|with|hold|have) {_M}\b.*?\b(?:each|apiece)\b"
_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    # what a sentence says, the expression of its numbers, and how the value is told
    (rf"{_EACH}.*\bchange\b.*?\b(?:from|for|out of|with) (?:a )?{_M}", "{2} - {0} * {1}", "The change is {}."),
    (_EACH, "{0} * {1}", "Together that is {}."),
    (rf"\b{_M}\b.*?\b{_M} ?(?:percent|%) (?:off|discount|less|cheaper)", "{0} * (100 - {1}) / 100", "That leaves {}."),
    (rf"{_M} {_SPEED}.*?\b{_M} hours?\b|{_M} hours?\b.*?\b{_M} {_SPEED}", "{0} * {1}", "The distance is {}."),
    (rf"^(?=.*\b(?:shared?|split|divide)\b).*\b{_M}\b\D*\b(?:among|between|by) {_M}", "{0} / {1}", "Each gets {}."),
    (rf"\b{_M} [\w ]*?(?:share|split|divide)\b\D*{_M}", "{1} / {0}", "Each gets {}."),
)
_OPERATORS = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "x": "*", "divided by": "/", "over": "/"}
_OPERATORS |= {"percent of": "/ 100 *", "% of": "/ 100 *", "half of": "0.5 *", "a quarter of": "0.25 *"}
_OPERATOR = re.compile(rf" ?({'|'.join(_OPERATORS)}) (?=\$?\d)")
_CALCULATION = re.compile(rf"{_M}(?: [-+*/] {_M})+")
_LISTED = re.compile(r"(\w+)\(([\w, ]+)\)")
_ALSO_CALLED = {"body mass index": "bmi", "body surface": "bsa", "filtration rate": "egfr", "coma scale": "glasgow"}
_INPUTS: dict[str, tuple[tuple[str, float, float], ...]] = {
    # of each, its forms: a pattern, and what its first and second number count in the unit of its name
    "weight_kg": ((rf"{_N}\s*(?:kg|kilos?|kilograms?)\b", 1, 0), (rf"{_N}\s*(?:lbs?|pounds?)\b", 0.45359237, 0)),
    "height_cm": (
        (rf"{_N}\s*(?:cm|centimet(?:er|re)s?)\b", 1, 0),
        (rf"{_N}\s*(?:m|met(?:er|re)s?)\b(?:\s*(?:and\s+)?(\d\d?)\b(?!\s*(?:kg|kilo|year)))?", 100, 1),
        (r"(\d)\s*(?:feet|foot|ft|')\s*(?:and\s+)?(\d{1,2})?", 30.48, 2.54),
        (r"\b(1[2-9]\d|2[0-2]\d)\b(?!\s*(?:kg|kilo|lb|pound|year|\.\d))", 1, 0),
    ),
    "age_years": ((rf"{_N}[\s-]*(?:years?\b|year-old)", 1, 0), (rf"\baged?\s+{_N}", 1, 0)),
}
_SEXES = (("female", r"\b(?:female|woman|girl|she)\b"), ("male", r"\b(?:male|man|boy|he)\b"))


def problem_in(sentence: str) -> tuple[str, str]:
    """Return a word problem as an expression, '' for a sentence that is none, and how its value is told."""
    plain = digits(re.sub(r"(?<=\d),(?=\d{3})", "", sentence.lower())).replace(",", " ")
    plain = re.sub(r"\s+", " ", plain)
    for pattern, expression, words in _PROBLEMS:
        if found := re.search(pattern, plain):
            return expression.format(*filter(None, found.groups())), words
    calculation = _CALCULATION.search(_OPERATOR.sub(lambda found: f" {_OPERATORS[found[1]]} ", plain))
    return calculation[0].replace("$", "") if calculation else "", "That is {}."


def scores_of(description: str) -> Scores:
    """Return the scores that a tool's description lists: `bmi(weight_kg, height_cm); …`."""
    return {name: tuple(inputs.split(", ")) for name, inputs in _LISTED.findall(description)}


def score_in(sentence: str, scores: Scores) -> str:
    """Return the name of the score a sentence asks for; its words may change places, and its letters stand apart."""
    plain = digits(sentence.lower())
    for said, name in _ALSO_CALLED.items():
        plain = plain.replace(said, name)
    words = set(re.findall(r"\w+", plain))
    letters = {name: r"\W?".join(name.replace("_", "")) for name in scores}
    named = (name for name in scores if words.issuperset(name.split("_")) or re.search(rf"\b{letters[name]}\b", plain))
    return next(named, "")


def values_in(sentence: str, scores: Scores) -> dict[str, float | str]:
    """Return the inputs of its score by name, or none when one is missing."""
    inputs = scores.get(score_in(sentence, scores), ())
    plain = re.sub(r"(?<![\d.])1,? (?=[2-9]\d\b)", "1", digits(sentence.lower()))  # "one eighty" is 180
    plain = re.sub(r"\b100 (?=\d\d\b)", "1", plain)
    found = {name: value for name in inputs if (value := _input(name, plain)) is not None}
    return found if len(found) == len(inputs) else {}


def _input(name: str, plain: str) -> float | str | None:
    """Return the value a sentence gives for an input, in the unit of its name."""
    if name == "sex":
        return next((sex for sex, said in _SEXES if re.search(said, plain)), None)
    what = name.partition("_")[0]
    for pattern, first, second in _INPUTS.get(name, ((rf"\b{what}(?: response| of| is| at)*\s+{_N}", 1, 0),)):
        if found := re.search(pattern, plain):
            more = found[2] if found.lastindex and found.lastindex > 1 else ""
            more = more.ljust(2, "0") if second == 1 and more else more  # "one meter 8" is 1.80
            return round(first * float(found[1]) + second * float(more or 0), 1)
    return None
