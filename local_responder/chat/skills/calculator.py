"""Clinical scores that are all numbers, from a sentence: `medical_calculator(score, values)`.

Findings that are true or false are left to a real model: what a sentence does not mention is not the same as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named
from local_responder.dialogue.numbers import digits

_SCORES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    # the tool's name for it, the words that ask for it, its inputs
    ("bmi", r"\bb\.?m\.?i\b|body mass index", ("weight_kg", "height_cm")),
    ("bsa", r"\bbsa\b|body surface", ("weight_kg", "height_cm")),
    ("creatinine_clearance", r"creatinine clearance", ("age_years", "sex", "weight_kg", "creatinine_mg_dl")),
    ("egfr", r"\be ?gfr\b|filtration rate", ("age_years", "sex", "creatinine_mg_dl")),
    ("glasgow", r"glasgow|coma scale", ("eye", "verbal", "motor")),
    ("anion_gap", r"anion gap", ("sodium_mmol_l", "chloride_mmol_l", "bicarbonate_mmol_l")),
    ("corrected_calcium", r"corrected calcium|calcium corrected", ("calcium_mg_dl", "albumin_g_dl")),
)
_NUMBER = r"(\d+(?:\.\d+)?)"
_KILOS = re.compile(_NUMBER + r"\s*(?:kg|kilos?|kilograms?)\b")
_POUNDS = re.compile(_NUMBER + r"\s*(?:lbs?|pounds?)\b")
_METERS = re.compile(_NUMBER + r"\s*(?:m|met(?:er|re)s?)\b(?:\s*(?:and\s+)?(\d{1,2})\b(?!\s*(?:kg|kilo|year)))?")
_CENTIMETERS = re.compile(_NUMBER + r"\s*(?:cm|centimet(?:er|re)s?)\b")
_FEET = re.compile(r"(\d)\s*(?:feet|foot|ft|')\s*(?:and\s+)?(\d{1,2})?")
_BARE_HEIGHT = re.compile(r"\b(1[2-9]\d|2[0-2]\d)\b(?!\s*(?:kg|kilo|lb|pound|year|\.\d))")
_AGE = re.compile(_NUMBER + r"[\s-]*(?:years?\b|year-old)|\baged?\s+" + _NUMBER)
_SEXES = (("female", r"\b(?:female|woman|girl|she)\b"), ("male", r"\b(?:male|man|boy|he)\b"))


def _fits(sentence: str) -> bool:
    return _score(sentence) is not None


def _score(sentence: str) -> tuple[str, tuple[str, ...]] | None:
    plain = sentence.lower()
    return next(((name, inputs) for name, asked, inputs in _SCORES if re.search(asked, plain)), None)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    score, values = field_named(schema, "score"), field_named(schema, "values")
    chosen = _score(asked.sentence)
    if score is None or values is None or chosen is None:
        return []
    plain = digits(asked.sentence.lower())
    found = {name: value for name in chosen[1] if (value := _input(name, plain)) is not None}
    return [{score: chosen[0], values: found}] if len(found) == len(chosen[1]) else []


def _input(name: str, plain: str) -> float | str | None:
    """The value a sentence gives for an input, in the unit of its name."""
    match name:
        case "weight_kg":
            return _number(_KILOS, plain) or _rounded(_number(_POUNDS, plain), 0.45359237)
        case "height_cm":
            return _height(plain)
        case "age_years":
            found = _AGE.search(plain)
            return float(found[1] or found[2]) if found else None
        case "sex":
            return next((sex for sex, said in _SEXES if re.search(said, plain)), None)
        case _:
            what = name.partition("_")[0]
            return _number(re.compile(rf"\b{what}(?: response| of| is| at)*\s+{_NUMBER}"), plain)


def _height(plain: str) -> float | None:
    """Centimeters, from 180 cm, 1.80 m, "1 metre 80", 5 foot 11, or a bare 180."""
    if (centimeters := _number(_CENTIMETERS, plain)) is not None:
        return centimeters
    if found := _METERS.search(plain):
        return round(100 * float(found[1]) + float((found[2] or "0").ljust(2, "0")), 1)
    if found := _FEET.search(plain):
        return round(30.48 * float(found[1]) + 2.54 * float(found[2] or 0), 1)
    return _number(_BARE_HEIGHT, plain)


def _number(pattern: re.Pattern[str], plain: str) -> float | None:
    found = pattern.search(plain)
    return float(found[1]) if found else None


def _rounded(value: float | None, factor: float) -> float | None:
    return round(value * factor, 1) if value is not None else None


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    unit = "" if result.get("unit") in ("", None) else f" {result['unit']}"
    return f"The {_lowered(str(result['score']))} is {result['value']:g}{unit}: {result['meaning']}."


def _lowered(title: str) -> str:
    """A title within a sentence; abbreviations keep their capitals."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title


SKILL = Skill(
    tool=re.compile(r"calculator"),
    fits=_fits,
    fill=_fill,
    missing="I need all its numbers with their units, for example eighty kilos and one meter eighty.",
    word=_word,
)
