"""Weather: `get_current_weather(location, unit?, …)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named
from local_responder.dialogue.place_names import places_in

_FITS = re.compile(
    r"\b(?:weather|rain\w*|snow\w*|sunny|wind\w*|temperature|forecast|umbrella|jacket|degrees|storm\w*|cold|hot|warm|humid)\b",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_HOME = re.compile(r"\"default_location\":\s*\"([^\"]+)\"")
_UNIT = re.compile(r"\b(celsius|fahrenheit)\b", re.IGNORECASE)
_PREFERRED_UNIT = re.compile(r"\"temperature_unit\":\s*\"([^\"]+)\"")


def _fits(sentence: str) -> bool:
    return bool(_FITS.search(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    where = field_named(schema, "location", "city", "place", "query")
    if where is None:
        return []
    home = _HOME.search(asked.known)
    places = places_in(asked.sentence) or ([home[1]] if home else [])
    return [{where: place, **_unit(asked, schema)} for place in places]


def _unit(asked: Asked, schema: Mapping[str, Any]) -> Arguments:
    """The unit, if the sentence or the caller's preferences name one that the schema allows."""
    name = field_named(schema, "unit", "units")
    wanted = _UNIT.search(asked.sentence) or _PREFERRED_UNIT.search(asked.known)
    if name is None or wanted is None:
        return {}
    allowed = schema["properties"][name].get("enum")
    unit = wanted[1].lower()
    return {name: unit} if allowed is None or unit in allowed else {}


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    data = result.get("data", result)
    place = data.get("place", data.get("location", "there"))
    name = place.get("name", "there") if isinstance(place, Mapping) else str(place)
    unit = str(data.get("unit", "")).lower()
    degrees = "degrees Fahrenheit" if unit.startswith("f") else "degrees Celsius" if unit.startswith("c") else "degrees"
    day = _day(asked.sentence, data.get("daily") or [])
    if day:
        return (
            f"{name}, {day['weekday']}: {day['conditions']}, between {day['low']} and {day['high']} {degrees}."
            + _rain(day)
        )
    now = data.get("current", data)
    words = f"In {name} it is {now['temperature']} {degrees}{_sky(str(now['conditions']))}"
    feels = now.get("feels_like")
    return words + (f"; it feels like {feels}." if feels not in (None, now["temperature"]) else ".")


def _sky(conditions: str) -> str:
    """How conditions join a sentence: ' and partly cloudy', ', with light rain', ', with a clear sky'."""
    if re.search(r"(?:clear|cloudy|overcast|sunny|foggy|windy)$", conditions):
        return f" and {conditions}"
    return f", with {'a ' if re.search(r'(?:sky|thunderstorm)$', conditions) else ''}{conditions}"


def _day(sentence: str, daily: list[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The forecast's entry for the day that was asked for; None for now."""
    named = _WEEKDAY.search(sentence)
    if named:
        return next((day for day in daily if day.get("weekday", "").lower() == named[0].lower()), None)
    if re.search(r"\btomorrow\b", sentence, re.IGNORECASE):
        return daily[1] if len(daily) > 1 else None
    return None


def _rain(day: Mapping[str, Any]) -> str:
    chance = day.get("precipitation_chance_percent")
    return f" The chance of rain is {chance} percent." if chance is not None else ""


SKILL = Skill(
    tool=re.compile(r"weather|forecast"),
    fits=_fits,
    fill=_fill,
    missing="Which place do you mean?",
    word=_word,
)
