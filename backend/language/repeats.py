"""Repetition rules: RRULEs of RFC 5545, checked before use. Pure."""

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta

from dateutil.rrule import rrulestr

from backend.errors import BadMoment
from backend.language.moments import Moment

WORDS = {
    "daily": "FREQ=DAILY",
    "weekly": "FREQ=WEEKLY",
    "monthly": "FREQ=MONTHLY",
    "yearly": "FREQ=YEARLY",
    "weekdays": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
}
"""Words that may replace a rule."""
HORIZON = timedelta(days=9 * 366)
"""The time in which even a 29 February occurs: a rule without an occurrence in it never has one."""

_ANY_DAY = r"(MO|TU|WE|TH|FR|SA|SU)"
_NTH_DAY = rf"([+-]?[1-5])?{_ANY_DAY}"
_PARTS = {
    "FREQ": r"DAILY|WEEKLY|MONTHLY|YEARLY",
    "INTERVAL": r"[1-9]\d{0,2}",
    "COUNT": r"[1-9]\d{0,3}",
    "UNTIL": r"\d{4}-?\d\d-?\d\d(T\d\d:?\d\d(:?\d\d)?Z?)?",
    "WKST": _ANY_DAY,
}
_DAYS = {
    "DAILY": {"BYDAY": _ANY_DAY},
    "WEEKLY": {"BYDAY": _ANY_DAY},
    "MONTHLY": {"BYDAY": _NTH_DAY, "BYMONTHDAY": r"-?([1-9]|[12]\d|3[01])", "BYSETPOS": r"-?[1-4]"},
    "YEARLY": {"BYMONTH": r"[1-9]|1[0-2]", "BYMONTHDAY": r"[1-9]|[12]\d|3[01]", "BYDAY": _NTH_DAY},
}
"""FREQ → the parts that may choose the days. Each value occurs, since a search without an occurrence takes seconds."""
_HINT = "Send an RRULE such as FREQ=WEEKLY;BYDAY=MO or FREQ=DAILY;COUNT=5, or one of: " + ", ".join(WORDS) + "."


def checked(rule: str, start: Moment) -> tuple[str, Moment]:
    """Return the rule in its plain form, and its first occurrence from `start` on. Raises `BadMoment`."""
    parts = _parts(rule)
    last = datetime.max
    if until := parts.get("UNTIL"):
        parts["UNTIL"], last = _until(until, start)
    first = _first(parts, start, last)
    return ";".join(f"{name}={value}" for name, value in parts.items()), first


def names_days(rule: str) -> bool:
    """Return whether the rule itself names its days, so that another first day does not move it."""
    return bool(re.search(r"\bBY(?:DAY|MONTHDAY|MONTH|SETPOS)=", rule))


def understood(rule: str) -> bool:
    """Return whether a rule that another program wrote is supported here."""
    try:
        return bool(_parts(rule))
    except BadMoment:
        return False


def _parts(rule: str) -> dict[str, str]:
    rule = WORDS.get(rule.strip().lower(), rule.strip().upper().removeprefix("RRULE:"))
    pairs = [part.partition("=")[::2] for part in rule.strip(";").split(";")]
    parts = dict(pairs)
    if len(parts) != len(pairs) or not all(_known(name, value, parts) for name, value in pairs):
        raise BadMoment("That is no rule to repeat an event by.", hint=_HINT)
    if "FREQ" not in parts or ("COUNT" in parts and "UNTIL" in parts):
        raise BadMoment("A rule needs a FREQ, and not both a COUNT and an UNTIL.", hint=_HINT)  # RFC 5545, 3.3.10
    if not _happens(parts):
        raise BadMoment("By this rule the event would never happen.", hint=_HINT)
    return parts


def _known(name: str, value: str, parts: dict[str, str]) -> bool:
    if name in _PARTS:
        return bool(re.fullmatch(_PARTS[name], value))
    choices = _DAYS.get(parts.get("FREQ", ""), {})
    return name in choices and all(re.fullmatch(choices[name], one) for one in value.split(","))


def _happens(parts: dict[str, str]) -> bool:
    """Return whether the chosen days exist together: not a 30th of February, nor a third Monday that is the 2nd."""
    days, weekdays = parts.get("BYMONTHDAY"), parts.get("BYDAY", "")
    if position := parts.get("BYSETPOS"):
        monthly = sum(4 if day[:-2] == "" else abs(int(day[:-2])) < 5 for day in weekdays.split(",") if day)
        if days or not weekdays or abs(int(position)) > max(1, monthly):
            return False  # not every month has a fifth Friday, and a position must be within the chosen days
    if days is None:
        return True
    months = parts.get("BYMONTH", "1").split(",")
    longest = max(monthrange(2000, int(month))[1] for month in months)
    return not re.search(r"\d", weekdays) and any(abs(int(day)) <= longest for day in days.split(","))


def _until(value: str, start: Moment) -> tuple[str, datetime]:
    """Return UNTIL in the form of RFC 5545, and on the start's wall clock.

    By the RFC it is of the same kind as the start, and in UTC if the start has a zone.
    """
    figures = re.sub(r"[-:]", "", value)
    day, _, clock = figures.partition("T")
    try:
        last = date(int(day[:4]), int(day[4:6]), int(day[6:]))
        if not isinstance(start, datetime):
            return f"{last:%Y%m%d}", datetime.combine(last, time())
        at = time(int(clock[:2]), int(clock[2:4])) if clock else time(23, 59, 59)
    except ValueError:
        raise BadMoment("The rule ends on a day that does not exist.", hint=_HINT) from None
    moment = datetime.combine(last, at, UTC if value.endswith("Z") else start.tzinfo)
    if start.tzinfo is None:
        return f"{moment:%Y%m%dT%H%M%S}", moment.replace(tzinfo=None)
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}", moment.astimezone(start.tzinfo).replace(tzinfo=None)


def _first(parts: dict[str, str], start: Moment, until: datetime) -> Moment:
    """Return the first time, on the wall clock and within the horizon: some rules would be searched forever."""
    wall = start.replace(tzinfo=None) if isinstance(start, datetime) else datetime.combine(start, time())
    last = min(wall + HORIZON, until)
    open_ended = ";".join(f"{name}={value}" for name, value in parts.items() if name not in ("UNTIL", "COUNT"))
    try:
        first: datetime | None = next(iter(rrulestr(f"{open_ended};UNTIL={last:%Y%m%dT%H%M%S}", dtstart=wall)), None)
    except (ValueError, TypeError) as error:
        raise BadMoment("That is no rule to repeat an event by.", hint=_HINT) from error
    if first is None:
        raise BadMoment("By this rule the event would never happen.", hint=_HINT)
    return first.replace(tzinfo=start.tzinfo) if isinstance(start, datetime) else first.date()
