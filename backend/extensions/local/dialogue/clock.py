"""The time and the date, here or in a city that a sentence names. Pure except for the files of the time zones."""

import re
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_ASKS = re.compile(r"\bwhat time is it\b|\bwhat(?:'s| is) the (?:current )?time\b|\bhow late is it\b")
_REGIONS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")


def time_elsewhere(sentence: str, now: datetime) -> str:
    """Return the time in the city that a sentence asks about, in words; '' if it asks about none."""
    plain = sentence.lower().replace("’", "'")
    if not _ASKS.search(plain):
        return ""
    found = re.search(rf"\bin (?:the city of )?({'|'.join(_zones())})\b", plain)
    if not found:
        return ""
    there = now.astimezone(ZoneInfo(_zones()[found[1]]))
    return f"It is {there:%H:%M} in {found[1].title()}, on {there:%A}."


@cache
def _zones() -> dict[str, str]:
    """Return the cities that time zones are named after, the longest name first."""
    named = [name for name in sorted(available_timezones()) if name.startswith(_REGIONS)]
    cities = {name.rpartition("/")[2].replace("_", " ").lower(): name for name in named}
    return {city: cities[city] for city in sorted(cities, key=len, reverse=True)}
