"""Numbers in a sentence: a word problem as an expression, and the inputs of a clinical score. Pure.

Findings that are true or false are left to a real model: what a sentence does not mention is not the same as absent.
"""

from __future__ import annotations

import re

from local_responder.dialogue.names import digits

_N = r"(\d+(?:\.\d+)?)"
_M = rf"\$?{_N}"
_SPEED = r"(?:(?:miles?|kilometers?|km) (?:per|an) hour|mph|km/h)\b"
_EACH = rf"\b{_M} [\w ]+? (?:costs?|for|at|are) {_M}\b.*?\b(?:each|apiece)\b"
_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    # what a sentence says, the expression of its numbers, and how the value is told
    (rf"{_EACH}.*\bchange\b.*?\b(?:from|for|out of|with) (?:a )?{_M}", "{2} - {0} * {1}", "The change is {}."),
    (_EACH, "{0} * {1}", "Together that is {}."),
    (rf"\b{_M}\b.*?\b{_M} ?(?:percent|%) (?:off|discount|less|cheaper)", "{0} * (100 - {1}) / 100", "That leaves {}."),
    (rf"\b{_M} {_SPEED}.*?\b{_M} hours?\b", "{0} * {1}", "The distance is {}."),
    (rf"\b{_M} hours?\b.*?\b{_M} {_SPEED}", "{0} * {1}", "The distance is {}."),
    (rf"\b(?:share|split|divide) {_M}\b.*?\b(?:among|between|by) {_M}", "{0} / {1}", "Each gets {}."),
    (rf"{_M}\b.*?\b(?:share|split|divide)d? (?:it|that|them) (?:among|between|by) {_M}", "{0} / {1}", "Each pays {}."),
    (rf"\b{_M} ?(?:percent|%) of {_M}", "{1} * {0} / 100", "That is {}."),
    (rf"\b{_M} (?:times|multiplied by|x) {_M}", "{0} * {1}", "That is {}."),
    (rf"\b{_M} plus {_M}", "{0} + {1}", "That is {}."),
    (rf"\b{_M} minus {_M}", "{0} - {1}", "That is {}."),
    (rf"\b{_M} (?:divided by|over) {_M}", "{0} / {1}", "That is {}."),
)
_SCORES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # the tool's name for it, the words that ask for it, its inputs
    ("bmi", r"\bb\.?m\.?i\b|body mass index", ("weight_kg", "height_cm")),
    ("bsa", r"\bbsa\b|body surface", ("weight_kg", "height_cm")),
    ("creatinine_clearance", r"creatinine clearance", ("age_years", "sex", "weight_kg", "creatinine_mg_dl")),
    ("egfr", r"\be ?gfr\b|filtration rate", ("age_years", "sex", "creatinine_mg_dl")),
    ("fib_4", r"\bfib[ -]?(?:4|four)\b", ("age_years", "ast_u_l", "alt_u_l", "platelets_10e9_l")),
    ("glasgow", r"glasgow|coma scale", ("eye", "verbal", "motor")),
    ("anion_gap", r"an ?ion gap", ("sodium_mmol_l", "chloride_mmol_l", "bicarbonate_mmol_l")),
    ("corrected_calcium", r"corrected calcium|calcium corrected", ("calcium_mg_dl", "albumin_g_dl")),
)
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


def expression_in(sentence: str) -> str:
    """Return a word problem as an expression; '' for a sentence that is none."""
    return _read(sentence)[0]


def value_told(sentence: str, value: float) -> str:
    """Return how the value of its expression is told."""
    return (_read(sentence)[1] or "That is {}.").format(f"{value:g}")


def score_in(sentence: str) -> str:
    """Return the name of the clinical score a sentence asks for; '' for none."""
    return next((name for name, asked, _ in _SCORES if re.search(asked, sentence.lower())), "")


def values_in(sentence: str) -> dict[str, float | str]:
    """Return the inputs of its clinical score by name, or none when one is missing."""
    inputs = next((inputs for name, _, inputs in _SCORES if name == score_in(sentence)), ())
    plain = re.sub(r"(?<![\d.])1,? (?=[2-9]\d\b)", "1", digits(sentence.lower()))  # "one eighty" is 180
    plain = re.sub(r"\b100 (?=\d\d\b)", "1", plain)
    found = {name: value for name in inputs if (value := _input(name, plain)) is not None}
    return found if len(found) == len(inputs) else {}


def _read(sentence: str) -> tuple[str, str]:
    plain = re.sub(r"\s+", " ", digits(sentence.lower()).replace(",", " "))
    for pattern, expression, words in _PROBLEMS:
        if found := re.search(pattern, plain):
            return expression.format(*found.groups()), words
    return "", ""


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
