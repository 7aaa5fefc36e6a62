"""Weather: `get_current_weather(location, unit?, …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, field_named, having
from local_responder.dialogue.names import places_in

_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_HOME = re.compile(r"\"default_location\":\s*\"([^\"]+)\"")
_UNIT = re.compile(r"\b(celsius|fahrenheit)\b", re.IGNORECASE)
_PREFERRED_UNIT = re.compile(r"\"temperature_unit\":\s*\"([^\"]+)\"")


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    where, unit = field_named(schema, "location", "city", "place", "query"), field_named(schema, "unit", "units")
    home = _HOME.search(asked.known)
    wanted = _UNIT.search(asked.sentence) or _PREFERRED_UNIT.search(asked.known)
    units = {unit: wanted[1].lower()} if unit and wanted else {}
    return [{where: place, **units} for place in places_in(asked.sentence) or ([home[1]] if home else [])]


def _word(asked: Asked, result: Result) -> str:
    data = result.get("data", result)
    place = data.get("place", data.get("location", "there"))
    name = place.get("name", "there") if isinstance(place, Mapping) else str(place)
    unit = str(data.get("unit", "")).lower()
    degrees = "degrees Fahrenheit" if unit.startswith("f") else "degrees Celsius" if unit.startswith("c") else "degrees"
    if day := _day(asked.sentence, data.get("daily") or []):
        chance = day.get("precipitation_chance_percent")
        rain = f" The chance of rain is {chance} percent." if chance is not None else ""
        return f"{name}, {day['weekday']}: {day['conditions']}, between {day['low']} and {day['high']} {degrees}.{rain}"
    now = data.get("current", data)
    words = f"In {name} it is {now['temperature']} {degrees}{_sky(str(now['conditions']))}"
    feels = now.get("feels_like")
    return words + (f"; it feels like {feels}." if feels not in (None, now["temperature"]) else ".")


def _sky(conditions: str) -> str:
    """How conditions join a sentence: ' and partly cloudy', ', with light rain', ', with a clear sky'."""
    if re.search(r"(?:clear|cloudy|overcast|sunny|foggy|windy)$", conditions):
        return f" and {conditions}"
    return f", with {'a ' if re.search(r'(?:sky|thunderstorm)$', conditions) else ''}{conditions}"


def _day(sentence: str, daily: list[Result]) -> Result | None:
    """The forecast's entry for the day that was asked for; None for now."""
    if named := _WEEKDAY.search(sentence):
        return next((day for day in daily if day.get("weekday", "").lower() == named[0].lower()), None)
    return daily[1] if re.search(r"\btomorrow\b", sentence, re.IGNORECASE) and len(daily) > 1 else None


SKILLS = (
    Skill(
        tool=r"weather|forecast",
        fits=having(r"\b(?:weather|rain\w*|snow\w*|temperature|forecast|umbrella)\b"),
        fill=_fill,
        word=_word,
        missing="Which place do you mean?",
    ),
)
