"""The schedule computes when a reminder is due, from words or a recurrence rule. Pure.

A repeating reminder follows its user's clock: "every day at nine" stays at nine when the clocks change. Its rule is
computed in wall-clock times, and only the result becomes an instant: a time that the clocks skip moves ahead by the
jump, and of a time that occurs twice the first counts.
"""

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import takewhile
from zoneinfo import ZoneInfo

import msgspec
from dateutil.rrule import rrulestr

from backend.errors import BadMoment, BadRequest
from backend.language.dates import WEEKDAYS, parse_when, plain
from backend.language.moments import Moment, settled, zone_of
from backend.language.repeats import WORDS, checked

LATE_S = 5.0
"""Seconds by which a time may already have passed, for delays of the request."""
FARTHEST = timedelta(days=10 * 366)
ONCE = frozenset({"", "none", "once", "never", "no"})
"""The words for a reminder that does not repeat."""
EARLIEST = timedelta(days=10 * 366)
"""The greatest age of a repeating reminder: its times are computed one by one from its beginning."""
MORNING = time(9)
"""The time at which a note with a day but no hour is due."""
NOTE_RESTS = timedelta(minutes=30)
MARGIN = timedelta(days=1, hours=2)
"""The greatest step of a clock forward or back; Samoa once skipped a day."""
HINT = "Send ISO 8601 with an offset, such as 2026-11-27T15:00+01:00, or say it: in ten minutes, tomorrow at nine."
NO_ZONE = "Send an offset or a time_zone such as Europe/Oslo, or keep the user's with PATCH /api/me."
_SECONDS = {"second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3_600, "hr": 3_600, "day": 86_400, "week": 604_800}
_PART = rf"(?P<n>\d+(?:\.\d+)?) (?P<unit>{'|'.join(_SECONDS)})s?(?P<half> and 1? ?(?:a )?half)?"
_AHEAD = re.compile(rf"(?:in |after )?{_PART}(?:(?: and| ,)? {_PART.replace('P<', 'P<more_')})?(?: from now)?")

_EVERYS = {"day": "daily", "morning": "daily", "evening": "daily", "weekday": "weekdays"}
_EVERYS |= {"week": "weekly", "month": "monthly", "year": "yearly"}
_EVERY = re.compile(rf",?\s*\b(?:every (?P<unit>{'|'.join((*_EVERYS, *WEEKDAYS))})|daily)\b,?", re.IGNORECASE)


class Series(msgspec.Struct, frozen=True):
    """The times of a repeating reminder: `rule` (RFC 5545) from `start` (ISO, the wall clock in `zone`) on."""

    start: str
    rule: str
    zone: str


def zone_named(name: str) -> ZoneInfo:
    """Return the time zone of that IANA name. Raises `BadRequest`."""
    if (zone := zone_of(name)) is None:
        raise BadRequest("There is no such time zone.", hint="Send an IANA name, e.g. Europe/Oslo.")
    return zone


def planned(at: str, repeat: str, now: float, zone: ZoneInfo | None) -> tuple[float, Series | None]:
    """Return the first time (Unix, in seconds), and the series if it repeats; `zone` is the user's, None when unknown.

    Raises `BadRequest` for a time that cannot be understood, has passed, or needs an unknown time zone.
    """
    here = datetime.fromtimestamp(now, zone or UTC)
    if repeat.strip().lower() in ONCE:
        at, repeat = how_often(at)
    moment = _moment(at, here, zone)
    if repeat.strip().lower() not in ONCE:
        return _repeating(moment, repeat, now, zone)
    return _to_come(moment, here), None


def note_time(due: str, now: float, zone: ZoneInfo | None) -> float:
    """Return when a note is due; for a day without an hour, in the morning. Without a zone, times are UTC.

    A note for today that is set after the morning is due in half an hour. Raises `BadRequest`.
    """
    here = datetime.fromtimestamp(now, zone or UTC)
    moment = _read(due, here, zone)
    if not isinstance(moment, datetime):
        morning = settled(datetime.combine(moment, MORNING), here.tzinfo)
        moment = max(morning, here + NOTE_RESTS) if moment == here.date() else morning
    elif moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _to_come(moment, here)


def how_often(at: str) -> tuple[str, str]:
    """Split a time from its repetition: 'every Monday at nine' is 'monday at nine', weekly."""
    found = _EVERY.search(at)
    if found is None:
        return at, "none"
    unit, rest = (found["unit"] or "day").lower(), f"{at[: found.start()]} {at[found.end() :]}".strip()
    if unit in WEEKDAYS:
        return f"{unit} {rest}".strip(), "weekly"
    return f"{rest} in the {unit}" if unit in ("morning", "evening") else rest, _EVERYS[unit]


def next_time(series: Series, after: float) -> float | None:
    """Return the first time of the series later than `after`; None after the last one."""
    return next((at for at in _times(series, after) if at > after), None)


def last_time(series: Series, until: float) -> float | None:
    """Return the last time of the series that is not later than `until`; None when there is none."""
    times = takewhile(lambda at: at <= until, _times(series, None))
    return next(iter(deque(times, maxlen=1)), None)


def _to_come(moment: datetime, here: datetime) -> float:
    if moment.timestamp() < here.timestamp() - LATE_S:
        raise BadRequest("That time has passed.", hint=f"It is {here.isoformat(timespec='seconds')} now.")
    if moment - here > FARTHEST:
        raise BadRequest("That is too far ahead.", hint="Set it within ten years.")
    return moment.timestamp()


def _read(text: str, here: datetime, zone: tzinfo | None) -> Moment:
    seconds = re.sub(r"\b(?:an?|one|1) second\b", "1 sec", text.lower())  # else it would be the 2nd of something
    if (ahead := _ahead(plain(seconds), here)) is not None:
        return ahead
    try:
        return parse_when(text, here, zone)
    except (BadMoment, OverflowError) as error:
        raise BadRequest(str(error) or "There is no such time.", hint=HINT) from None


def _moment(text: str, here: datetime, zone: tzinfo | None) -> datetime:
    moment = _read(text, here, zone)
    if not isinstance(moment, datetime):
        raise BadRequest("The time of day is missing.", hint="Ask at what hour." if zone else HINT)
    if moment.tzinfo is None:
        raise BadRequest("The time zone is not known.", hint=NO_ZONE)
    return moment


def _ahead(phrase: str, here: datetime) -> datetime | None:
    """Return the moment of 'in ten seconds' or 'in two days'. Hours are exact; days and weeks follow the wall clock."""
    phrase = re.sub(r"^(?:in )?(?:about )?half an hour", "in 30 minutes", phrase)
    found = _AHEAD.fullmatch(phrase)
    if found is None:
        return None
    seconds = 0.0
    for count, unit, half in (found.group("n", "unit", "half"), found.group("more_n", "more_unit", "more_half")):
        if count:
            seconds += (float(count) + (0.5 if half else 0)) * _SECONDS[unit]
    try:
        if not seconds % 86_400:
            return settled(here.replace(tzinfo=None) + timedelta(seconds=seconds), here.tzinfo)
        return (here.astimezone(UTC) + timedelta(seconds=seconds)).astimezone(here.tzinfo)
    except OverflowError:
        raise BadRequest("That is too far ahead.", hint="Set it within ten years.") from None


def _repeating(moment: datetime, repeat: str, now: float, zone: ZoneInfo | None) -> tuple[float, Series]:
    if now - moment.timestamp() > EARLIEST.total_seconds():
        raise BadRequest("That time has passed.", hint="A repeating one may have begun at most ten years ago.")
    if zone is None:
        raise BadRequest("It repeats, and the user's time zone is not known.", hint=NO_ZONE)
    try:
        rule, first = checked(repeat, moment.astimezone(zone))
    except BadMoment as error:
        words = ", ".join(WORDS)
        raise BadRequest(str(error), hint=f"Send none, {words}, or an RRULE such as FREQ=WEEKLY;BYDAY=MO.") from None
    assert isinstance(first, datetime)
    series = Series(first.replace(tzinfo=None).isoformat(), rule, zone.key)
    at = next_time(series, now - LATE_S)
    if at is None or at - now > FARTHEST.total_seconds():
        raise BadRequest("It would never be due.", hint=f"The rule is {rule}.")
    return at, series


def _times(series: Series, around: float | None) -> Iterator[float]:
    """Yield the times of a series in order; with `around`, from a little before that time."""
    until = re.search(r"UNTIL=(\w+)", series.rule)
    last = datetime.strptime(until[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp() if until else None
    for wall in _walls(series, around):
        at = _instant(wall, series.zone)
        if last is not None and at > last:
            return
        yield at


def _walls(series: Series, around: float | None) -> Iterator[datetime]:
    rule = ";".join(part for part in series.rule.split(";") if not part.startswith("UNTIL="))
    found = rrulestr(rule, dtstart=datetime.fromisoformat(series.start))
    if around is None:
        return iter(found)
    wall = datetime.fromtimestamp(around, ZoneInfo(series.zone)).replace(tzinfo=None)
    walls: Iterator[datetime] = found.xafter(wall - MARGIN, inc=True)
    return walls


def _instant(wall: datetime, zone: str) -> float:
    return wall.replace(tzinfo=ZoneInfo(zone)).timestamp()
