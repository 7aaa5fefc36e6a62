"""Clinical scores by name; the formulas are in `medical_scores`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from backend.tools.base import EVERYONE, Result, tool
from backend.tools.fetch import refused
from backend.tools.medical_scores import SCORES, BadInput

_CATALOGUE = "; ".join(f"{score.name}({', '.join(one.name for one in score.inputs)})" for score in SCORES.values())


@tool(
    "medical_calculator",
    "Computes a clinical score or formula. Every input must be given, numbers in the unit in their name, findings as "
    f"true or false, sex as 'female' or 'male'. The scores: {_CATALOGUE}.",
    guidance="Medical calculator: never compute a score yourself. Ask for values the user has not given; do not "
    "assume them. Say the value with its unit and what it means.",
    clients=EVERYONE,
)
async def medical_calculator(
    score: Annotated[str, Field(max_length=64, description="The score's name, as listed.")],
    values: Annotated[dict[str, float | bool | str], "The inputs by name."],
) -> Result:
    """Raise `ToolFailed` that says what is missing, unknown or out of range."""
    chosen = SCORES.get(score.strip().lower())
    if chosen is None:
        raise refused(f"There is no score {score!r}. The scores are: {', '.join(SCORES)}.")
    try:
        value, meaning = chosen.calculate(values)
    except BadInput as error:
        raise refused(f"{chosen.title} cannot be computed: {error}.") from error
    data = {
        "score": chosen.title,
        "value": int(value) if value == int(value) else value,
        "unit": chosen.unit,
        "meaning": meaning,
        "inputs": dict(values),
        "source": chosen.source,
    }
    return Result(data, citations=(f"{chosen.title}: {chosen.source}",))
