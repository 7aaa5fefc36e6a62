"""Rules for times, dates, years, and ranges of them. Ambiguous dates are read month first: the voice is American."""

import re

from backend.extensions.local.synthesis.verbalize.numbers import cardinal, decade, ordinal, year
from backend.extensions.local.synthesis.verbalize.spans import Rule, rule
from backend.extensions.local.synthesis.verbalize.words import DAYS, any_of

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH_OF = {name[:3].lower(): name for name in MONTHS} | {"sept": "September"}
_MONTH = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|"
    r"Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_CLOCK = r"([01]?\d|2[0-4]):([0-5]\d)"
_HALF = r"\s?([AaPp])\.?\s?[Mm](?:\.|\b)"
_TO = r"\s?[-–—]\s?"


def clock(hour: int, minute: int, half: str | None) -> str:
    """Return a spoken time: seven thirty P.M.; without `half`, seven o'clock, eighteen hundred or midnight."""
    if half:
        spoken = cardinal(str(hour)) + (f" {_minutes(minute)}" if minute else "")
        return f"{spoken} {half.upper()}.M."
    if not minute:
        if hour in (0, 24):
            return "midnight"
        return f"{cardinal(str(hour))} o'clock" if hour <= 12 else f"{cardinal(str(hour))} hundred"
    return f"{cardinal(str(hour))} {_minutes(minute)}"


def _minutes(minute: int) -> str:
    return f"oh {cardinal(str(minute))}" if minute < 10 else cardinal(str(minute))


def _time(match: re.Match[str]) -> str | None:
    hour, minute, second, half = match.groups()
    spoken = clock(int(hour), int(minute), half)
    return f"{spoken} and {_plural(second, 'second')}" if second else spoken


def _hour(match: re.Match[str]) -> str | None:
    hour, half = match.groups()
    return clock(int(hour), 0, half) if 1 <= int(hour) <= 12 else None


def _hours(match: re.Match[str]) -> str | None:
    first, first_minute, last, last_minute, half = match.groups()
    if int(last) > 12 or int(first) > 12:
        return None
    start = cardinal(first) + (f" {_minutes(int(first_minute))}" if first_minute and int(first_minute) else "")
    return f"{start} to {clock(int(last), int(last_minute or 0), half)}"


def _times(match: re.Match[str]) -> str:
    first_hour, first_minute, last_hour, last_minute = (int(each) for each in match.groups()[:4])
    return f"{clock(first_hour, first_minute, None)} to {clock(last_hour, last_minute, None)}"


def date(day: int, month: int, in_year: int | None = None) -> str | None:
    """Return a spoken date: March fourteenth, twenty twenty-six; None if there is no such day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{MONTHS[month - 1]} {ordinal(day)}" + (f", {year(in_year)}" if in_year else "")


def _iso(match: re.Match[str]) -> str | None:
    spoken = date(int(match[3]), int(match[2]), int(match[1]))
    return f"{spoken}, {clock(int(match[4]), int(match[5]), None)}" if spoken and match[4] else spoken


def _slashed(match: re.Match[str]) -> str | None:
    first, second, in_year = map(int, match.groups())
    if in_year < 100:
        in_year += 1900 if in_year > 50 else 2000
    return date(second, first, in_year) if first <= 12 else date(first, second, in_year)


def _month_day(match: re.Match[str]) -> str | None:
    name, first, last, in_year = match.groups()
    if not 1 <= int(first) <= 31:
        return None
    spoken = f"{_MONTH_OF[name[:3].lower()]} {ordinal(int(first))}"
    if last:
        spoken += f" to {ordinal(int(last))}"
    return spoken + (f", {year(int(in_year))}" if in_year else "")


def _day_month(match: re.Match[str]) -> str | None:
    day, name, in_year = match.groups()
    if not 1 <= int(day) <= 31:
        return None
    spoken = f"the {ordinal(int(day))} of {_MONTH_OF[name[:3].lower()]}"
    return spoken + (f", {year(int(in_year))}" if in_year else "")


def _years(match: re.Match[str]) -> str:
    first, last = int(match[1]), match[2]
    return f"{year(first)} to {year(int(last)) if len(last) == 4 else cardinal(str(int(last)))}"


def _decade(match: re.Match[str]) -> str:
    value = int(match[1])
    return decade(value) if len(match[1]) == 4 else decade(1900 + value).removeprefix("nineteen ")


def _weekday(match: re.Match[str]) -> str:
    ends_sentence = match[0].endswith(".") and not match.string[match.end() :].strip()
    return DAYS[match[1]] + ("." if ends_sentence else "")


def _plural(amount: str, noun: str) -> str:
    return f"{cardinal(str(int(amount)))} {noun}" + ("" if int(amount) == 1 else "s")


CALENDAR: tuple[Rule, ...] = (
    rule(
        r"\b(\d{4})-(\d{2})-(\d{2})(?:[T ]([0-2]\d):([0-5]\d)(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b(?![-/])",
        _iso,
    ),
    rule(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\w/])", _slashed),
    rule(r"(?<![\w.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d{2})(?![\w])", lambda match: date(*map(int, match.groups()))),
    rule(rf"(?<![\w:.])(\d{{1,2}})(?::([0-5]\d))?(?:{_TO}| to )(\d{{1,2}})(?::([0-5]\d))?{_HALF}", _hours),
    rule(rf"(?<![\w:.]){_CLOCK}{_TO}{_CLOCK}(?![\w:])(?!{_HALF})", _times),
    rule(rf"(?<![\w:.]){_CLOCK}(?::([0-5]\d))?(?:{_HALF})?(?![\w:])", _time),
    rule(rf"(?<![\w:.])(\d{{1,2}}){_HALF}", _hour),
    rule(
        r"(?<![\w:.])(\d{1,2})\s?h\s?([0-5]\d)(?!\w)",
        lambda match: f"{_plural(match[1], 'hour')} {_plural(match[2], 'minute')}",
    ),
    rule(
        rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?(?:{_TO}(\d{{1,2}})(?:st|nd|rd|th)?)?(?![\w:%.]\d|\w)"
        r"(?:,? ((?:1[0-9]|20)\d{2})\b)?",
        _month_day,
    ),
    rule(
        rf"(?:\bthe )?(?<![\w.:])(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? ((?:1[0-9]|20)\d{{2}})\b)?",
        _day_month,
    ),
    rule(
        rf"\b{_MONTH} ((?:1[0-9]|20)\d{{2}})\b",
        lambda match: f"{_MONTH_OF[match[1][:3].lower()]} {year(int(match[2]))}",
    ),
    rule(r"(?<![\w.,$€£-])((?:1[1-9]|20)\d{2})\s?[-–—/]\s?((?:1[1-9]|20)?\d{2})(?![\w.,-]\w|\w)", _years),
    rule(r"(?<![\w.])((?:1[1-9]|20)\d0)['’]?s\b", _decade),
    rule(r"(?:(?<=\b[Tt]he )|(?<!\w)['’])([2-9]0)['’]?s\b", _decade),
    rule(r"(?<!\w)['’](\d{2})\b(?!['’])", lambda match: _minutes(int(match[1]))),
    rule(r"(?<![\w.,$€£#+-])((?:19|20)\d{2})(?![\w,.:]\d|\w)", lambda match: year(int(match[1]))),
    rule(
        r"(?:(?<=\b[Ii]n )|(?<=\b[Bb]y )|(?<=\b[Ss]ince )|(?<=\b[Uu]ntil ))(1[1-8]\d{2})(?![\w,.:]\d|\w)",
        lambda match: year(int(match[1])),
    ),
    rule(rf"(?<!\w)({any_of(DAYS)})\b(?:\.|(?=,? (?:\d|[A-Z])))", _weekday),
    rule(r"(?<!\w)(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.", lambda match: _MONTH_OF[match[1][:3].lower()]),
)
"""The rules for times and dates, in the order in which they are tried."""
