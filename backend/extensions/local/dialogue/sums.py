"""Sums in a sentence: calculations, word problems and units, as an expression and in words. Pure."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from text_to_num import alpha2digit

from backend.errors import ToolFailed
from backend.tools.calculate import computed

_N = r"(\d+(?:\.\d+)?)"
_M = rf"\$?{_N}"
_SPEED = r"(?:(?:miles?|kilometers?|km) (?:per|an) hour|mph|km/h)\b"
_EACH = rf"\b{_M} [\w ]+? (?:costs?|for|at|are|with|hold|have) {_M}\b.*?\b(?:each|apiece)\b"
_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    # the pattern of a sentence, the expression of its numbers, and the words for the value
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
_UNITS: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("units.toml").read_text("utf-8"))
_NAMED = {
    name: (kind, unit)
    for kind, units in _UNITS.items()
    for unit, known in units.items()
    for name in (unit, *known["said"])
}
_UNIT = rf"({'|'.join(sorted(map(re.escape, _NAMED), key=len, reverse=True))})\b"
_CONVERSIONS = (
    re.compile(rf"\bhow (?:many|much) {_UNIT}.*?(-?){_N} {_UNIT}"),
    re.compile(rf"(-?){_N} {_UNIT}.*?\b(?:in|to|into|as|is what in) {_UNIT}"),
)
_HALVES = (
    (r"\bhalf an? ", "0.5 "),
    (r"\ba quarter (?:of an? )?(?=[a-z])", "0.25 "),
    (r"\b(?:an?|one) (?=[a-z])", "1 "),
)


@dataclass(frozen=True, slots=True)
class Sum:
    """An expression of numbers and + - * / ( ), and the sentence that its value is put into."""

    expression: str
    words: str = "That is {}."

    def answer(self) -> str:
        """Return the sentence with the value, or with the reason why there is none."""
        try:
            value = float(computed(self.expression))
        except ToolFailed as failed:
            return str(failed)
        return self.words.format(f"{round(value, 2):,.10g}")


def digits(text: str) -> str:
    """Return `text` with every number in digits: "eighty kilos" becomes "80 kilos"."""
    return str(alpha2digit(text, "en", threshold=0))


def sum_in(sentence: str) -> Sum | None:
    """Return the sum that a sentence asks for; None if it asks for none."""
    plain = digits(re.sub(r"(?<=\d),(?=\d{3})", "", sentence.lower())).replace(",", " ").rstrip(" ?.!")
    plain = re.sub(r"\s+", " ", plain.replace("°", " degrees "))
    if converted := _conversion(plain):
        return converted
    for pattern, expression, words in _PROBLEMS:
        if found := re.search(pattern, plain):
            return Sum(expression.format(*filter(None, found.groups())), words)
    calculation = _CALCULATION.search(_OPERATOR.sub(lambda found: f" {_OPERATORS[found[1]]} ", plain))
    return Sum(calculation[0].replace("$", "")) if calculation else None


def _conversion(plain: str) -> Sum | None:
    """Return the conversion of a measure into another unit of its kind."""
    plain = re.sub(r"\b(?:minus|negative) (?=\d)", "-", plain)
    for pattern, number in _HALVES:
        plain = re.sub(pattern, number, plain)
    many, into = (pattern.search(plain) for pattern in _CONVERSIONS)
    if many:
        wanted, sign, number, given = many.groups()
    elif into:
        sign, number, given, wanted = into.groups()
    else:
        return None
    (kind, unit), (other, target) = _NAMED[given], _NAMED[wanted]
    if kind != other or unit == target:
        return None
    one, two = _UNITS[kind][unit], _UNITS[kind][target]
    base = f"({sign}{number} + {one.get('offset', 0)}) * {one['factor']}"
    return Sum(f"{base} / {two['factor']} - {two.get('offset', 0)}", f"That is {{}} {target}.")
