"""Clinical scores that are all numbers, from a sentence: `medical_calculator(score, values)`.

Findings that are true or false are left to a real model: what a sentence does not mention is not the same as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill
from local_responder.dialogue.names import digits

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
_N = r"(\d+(?:\.\d+)?)"
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


def _score(sentence: str) -> tuple[str, tuple[str, ...]] | None:
    return next(((name, inputs) for name, asked, inputs in _SCORES if re.search(asked, sentence.lower())), None)


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    if (chosen := _score(asked.sentence)) is None:
        return []
    plain = re.sub(r"(?<![\d.])1 (?=[2-9]\d\b)", "1", digits(asked.sentence.lower()))  # "one eighty" is 180
    found = {name: value for name in chosen[1] if (value := _input(name, plain)) is not None}
    return [{"score": chosen[0], "values": found}] if len(found) == len(chosen[1]) else []


def _input(name: str, plain: str) -> float | str | None:
    """The value a sentence gives for an input, in the unit of its name."""
    if name == "sex":
        return next((sex for sex, said in _SEXES if re.search(said, plain)), None)
    what = name.partition("_")[0]
    for pattern, first, second in _INPUTS.get(name, ((rf"\b{what}(?: response| of| is| at)*\s+{_N}", 1, 0),)):
        if found := re.search(pattern, plain):
            more = found[2] if found.lastindex and found.lastindex > 1 else ""
            return round(
                first * float(found[1]) + second * float(more.ljust(2, "0") if second == 1 and more else more or 0), 1
            )
    return None


def _word(asked: Asked, result: Result) -> str:
    unit = "" if result.get("unit") in ("", None) else f" {result['unit']}"
    title = str(result["score"])  # within a sentence; abbreviations keep their capitals
    title = title[0].lower() + title[1:] if title[1:2].islower() else title
    return f"The {title} is {result['value']:g}{unit}: {result['meaning']}."


SKILLS = (
    Skill(
        tool=r"calculator",
        fits=_score,
        fill=_fill,
        word=_word,
        missing="I need all its numbers with their units, for example eighty kilos and one meter eighty.",
    ),
)
