"""Dates as people say them: 'tomorrow at three', 'next Friday 9:30', 'in two hours', and ISO 8601. Pure.

A phrase is parsed in three steps, each of which removes the words that it understands: the day, the time, the fillers.
If words are left over, the phrase is refused instead of guessed.

Ambiguous phrases are read like this:
- 'Friday' is the next one after today; 'this Friday' may be today; 'next Friday' is next week's, weeks begin on Monday.
- an hour from 1 to 6 without any hint is in the afternoon, unless it is written 03:30; a bare time is the next such
  time; a date without a year is the next such date.
- a time that the clocks jump over is moved ahead by the jump; of a time that comes twice, the first counts.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from dateutil.parser import parserinfo
from dateutil.relativedelta import relativedelta
from dateutil.rrule import MONTHLY, rrule

from backend.errors import BadMoment
from backend.language.moments import Moment, settled

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
)
_ONES, _ORDINALS = (words.split() for words in _NUMBERS)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_FIGURES = {
    **{word: str(number) for number, word in enumerate(_ONES)},
    **{word: f"{number}th" for number, word in enumerate(_ORDINALS, 1)},
    "thirtieth": "30th",
}

WEEKDAYS: dict[str, int] = {name.lower(): day for day, names in enumerate(parserinfo.WEEKDAYS) for name in names}
WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
"""The weekdays by name, 0 for Monday."""
MONTHS: dict[str, int] = {name.lower(): month for month, names in enumerate(parserinfo.MONTHS, 1) for name in names}
"""The months by name, 1 for January."""

YEARS = range(1970, 2101)
_HINT = "Send it as YYYY-MM-DD or YYYY-MM-DDTHH:MM."
_MONTH = "|".join(MONTHS)
_DAY = "|".join(WEEKDAYS)
_UNITS = {"minute": 1, "min": 1, "hour": 60, "hr": 60}
"""The minutes of a unit of time."""
_RELATIVE_DAYS = {"day after tomorrow": 2, "day before yesterday": -2, "today": 0, "tomorrow": 1, "yesterday": -1}
_FILLERS = re.compile(r"\b(?:at|on|the|this|of|for|from|by|around|o'clock|in|next|coming)\b|,")

_WEEK = re.compile(
    r"(?:(?:for|in|on|at|over|during) )?(?P<which>this|the|next|coming|) ?(?P<what>week|weekend)", re.IGNORECASE
)
_TODAY = re.compile(r"^(?:tonight|(?:in )?this (?:morning|afternoon|evening))$", re.IGNORECASE)
_PART_OF_DAY = re.compile(r"(?<!the)(?<!this) (?:morning|afternoon|evening|night)$", re.IGNORECASE)


def parse_when(text: str, now: datetime, zone: tzinfo | None) -> Moment:
    """Return the moment in `text`: a date if it names no time of day, naive if no zone is known or said.

    `now` is aware; `zone` is the user's time zone, None if it is not known. Raises `BadMoment`.
    """
    here = now.astimezone(zone or UTC)
    try:
        moment = _iso(text.strip(), zone) or _spoken(_Phrase(plain(text)), here, zone)
    except (ValueError, OverflowError) as error:
        raise BadMoment("There is no such date or time.", hint=_HINT) from error
    if moment is None:
        raise BadMoment("That date or time cannot be understood.", hint=_HINT)
    if moment.year not in YEARS:
        raise BadMoment(f"A date must be between {YEARS[0]} and {YEARS[-1]}.", hint=_HINT)
    return moment


def parse_days(text: str, now: datetime, zone: tzinfo | None) -> tuple[Moment, Moment]:
    """Return the first and the last day that `text` names: 'next week', 'the weekend', 'Monday afternoon'.

    For anything else, both are the moment that `parse_when` reads. Raises `BadMoment`.
    """
    if found := _WEEK.fullmatch(text.strip()):
        today = now.astimezone(zone or UTC).date()
        monday = today + timedelta(days=7 * (found["which"].lower() == "next") - today.weekday())
        weekend = found["what"].lower() == "weekend"
        return max(today, monday + timedelta(days=5 if weekend else 0)), monday + timedelta(days=6)
    moment = parse_when(_PART_OF_DAY.sub("", _TODAY.sub("today", text.strip())), now, zone)
    return moment, moment


@dataclass
class _Phrase:
    """A phrase from which the parts that are understood are removed one by one."""

    rest: str

    def take(self, pattern: str) -> re.Match[str] | None:
        """Remove the first match and return it."""
        found = re.search(rf"(?<![\w:]){pattern}(?![\w:])", self.rest)
        if found:
            self.rest = f"{self.rest[: found.start()]} {self.rest[found.end() :]}"
        return found

    @property
    def understood(self) -> bool:
        """True if only fillers are left."""
        return not _FILLERS.sub(" ", self.rest).strip()


def _iso(text: str, zone: tzinfo | None) -> Moment | None:
    """Return an ISO 8601 date, or date and time, which is an instant if it has an offset; otherwise None."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return date.fromisoformat(text)
    if not re.fullmatch(r"\d{4}-?\d\d-?\d\d[Tt ]\d\d:?\d\d(:?\d\d([.,]\d+)?)?\s*([Zz]|[+-]\d\d(:?\d\d)?)?", text):
        return None
    moment = datetime.fromisoformat(re.sub(r"\s+(?=[Zz+-])", "", text).upper()).replace(microsecond=0)
    if moment.tzinfo is None:
        return settled(moment, zone)
    return moment.astimezone(zone or UTC)


def _spoken(phrase: _Phrase, here: datetime, zone: tzinfo | None) -> Moment | None:
    if (ahead := _from_now(phrase, here)) is not None:
        return ahead if phrase.understood else None
    day = _day(phrase, here.date())
    clock = _clock(phrase)
    if not phrase.understood or (day is None and clock is None):
        return None  # words are left over, or nothing was named
    if clock is None:
        return day
    if day is not None:
        return settled(datetime.combine(day, clock), zone)
    today = settled(datetime.combine(here.date(), clock), zone)
    if today.replace(tzinfo=today.tzinfo or UTC) > here:
        return today
    return settled(datetime.combine(here.date() + timedelta(days=1), clock), zone)


def _from_now(phrase: _Phrase, here: datetime) -> datetime | None:
    """Return the instant of 'in two hours', 'an hour and a half from now' or 'now'; otherwise None."""
    found = phrase.take(
        r"(?:in )?(?:about )?(?:(?P<half>half an hour)|(?P<n>\d+(?:\.5)?)(?P<and> and a half)? "
        r"(?P<unit>minute|min|hour|hr)s?(?P<later> and a half)?(?: and (?P<more>\d+) minutes?)?)(?: from now)?"
    )
    if found is None:
        return here.replace(microsecond=0) if phrase.take("(?:right )?now") else None
    if found["half"]:
        minutes = 30.0
    else:
        count = float(found["n"]) + (0.5 if found["and"] or found["later"] else 0)
        minutes = count * _UNITS[found["unit"]] + float(found["more"] or 0)
    exact = here.astimezone(UTC) + timedelta(minutes=minutes)
    return exact.replace(second=0, microsecond=0).astimezone(here.tzinfo)


def _day(phrase: _Phrase, today: date) -> date | None:
    for words, days in _RELATIVE_DAYS.items():
        if phrase.take(words):
            return today + timedelta(days=days)
    if re.search(r"\b(?:tonight|this (?:morning|afternoon|evening))\b", phrase.rest):
        return today  # the words stay, because they also name the time
    return _weekday(phrase, today) or _counted(phrase, today) or _calendar_date(phrase, today)


def _weekday(phrase: _Phrase, today: date) -> date | None:
    week = phrase.take(rf"(?:next week (?:on )?(?P<a>{_DAY})|(?P<b>{_DAY}) next week)")
    found = week or phrase.take(rf"(?P<which>(?:this|next|coming) )?(?P<day>{_DAY})")
    if found is None:
        return None
    name = (found["a"] or found["b"]) if week else found["day"]
    day = WEEKDAYS[name]
    if week or found["which"] == "next ":
        return today + timedelta(days=7 - today.weekday() + day)
    ahead = (day - today.weekday()) % 7
    return today + timedelta(days=ahead if ahead or (found["which"] or "") == "this " else 7)


def _counted(phrase: _Phrase, today: date) -> date | None:
    """Return the day of 'in three days', 'two weeks from now' or 'next month'; otherwise None."""
    found = phrase.take(r"(?:in )?(?P<n>\d+) (?P<unit>day|week|month|year)s?(?: from (?:now|today))?") or phrase.take(
        r"next (?P<unit>week|month|year)"
    )
    if found is None:
        return None
    count = int(found.groupdict().get("n") or 1)
    if found["unit"] in ("day", "week"):
        return today + timedelta(days=count * (7 if found["unit"] == "week" else 1))
    later: date = today + relativedelta(months=count * (12 if found["unit"] == "year" else 1))
    return later


def _calendar_date(phrase: _Phrase, today: date) -> date | None:
    """Return the day of 'November 27', 'the 27th of November 2026' or 'the 27th'; otherwise None."""
    found = (
        phrase.take(r"(?P<y>\d{4})-(?P<n>\d\d)-(?P<d>\d\d)")
        or phrase.take(rf"(?P<m>{_MONTH}) (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: ?,? (?P<y>\d{{4}}))?")
        or phrase.take(rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<m>{_MONTH})(?: ?,? (?P<y>\d{{4}}))?")
    )
    if found is None:
        found = phrase.take(r"(?P<d>\d{1,2})(?:st|nd|rd|th)")
        return _next_date(today, int(found["d"])) if found else None
    parts = found.groupdict()
    month = int(parts["n"]) if parts.get("n") else MONTHS[parts["m"]]
    if parts["y"]:
        return date(int(parts["y"]), month, int(parts["d"]))
    return _next_date(today, int(parts["d"]), month)


def _next_date(today: date, day: int, month: int | None = None) -> date:
    """Return the next such day of that month, or of any, from today on. Raise `ValueError` if none ever comes."""
    start = datetime.combine(today, time())
    until = start + relativedelta(years=9)  # a 29 February may be eight years away
    found: datetime | None = next(iter(rrule(MONTHLY, start, bymonth=month, bymonthday=day, until=until)), None)
    if found is None or not day:
        raise ValueError("no such date")
    return found.date()


def _clock(phrase: _Phrase) -> time | None:
    if phrase.take("noon|midday"):
        return time(12)
    if phrase.take("midnight"):
        return time(0)
    half = phrase.take(r"(?:in the )?(?P<part>morning|afternoon|evening|tonight|night)")
    part = half["part"] if half else ""
    if found := phrase.take(r"(?P<n>half|quarter|\d{1,2})(?: minutes?)? (?P<way>past|to) (?P<h>\d{1,2})"):
        minutes = {"half": 30, "quarter": 15}.get(found["n"]) or int(found["n"])
        mark = phrase.take("am|pm")
        hour = _hour(int(found["h"]), "", part or (mark[0] if mark else ""))
        at = datetime.combine(date.min + timedelta(days=1), time(hour))
        return (at + timedelta(minutes=minutes if found["way"] == "past" else -minutes)).time()
    found = phrase.take(r"(?P<h>\d{1,2})(?:[:. ](?P<m>\d\d))?(?: ?(?P<mark>am|pm))?(?: o'clock)?")
    if found is None:
        if part:
            raise BadMoment("The time of day is missing.", hint="Ask the user at what hour.")
        return None
    return time(_hour(int(found["h"]), found["h"], part or found["mark"] or ""), int(found["m"] or 0))


def _hour(hour: int, written: str, part: str) -> int:
    """Return the hour on a 24-hour clock. `part` is am, pm, or a part of the day."""
    if part in ("am", "pm") and not 1 <= hour <= 12:
        raise ValueError("no such hour")
    if part in ("am", "morning"):
        return hour % 12 if hour == 12 else hour
    if part in ("tonight", "night") and hour == 12:
        return 0
    if part:
        return hour if hour >= 12 else hour + 12
    return hour + 12 if 1 <= hour <= 6 and not written.startswith("0") else hour


# --- words as figures ---------------------------------------------------------------------------------


def plain(text: str) -> str:
    """Return a phrase in lower case, with figures for number words and one space between words.

    'Next Friday, half past three p.m.' → 'next friday , half past 3 pm'
    """
    text = text.lower().replace("’", "'").replace("\u202f", " ").replace("\u00a0", " ")
    text = re.sub(r"\b([ap])\.? ?m\b\.?", r"\1m", text)
    text = re.sub(r"(?<=\w)-(?=[a-z])", " ", text)
    text = re.sub(r"[.!?]+$", "", text.strip()).replace(",", " , ")
    words = re.sub(r"(\d)(am|pm)\b", r"\1 \2", text).split()
    return re.sub(r"\b(?:a|an) (?=(?:minute|hour|day|week|month|year)\b)(?<!half an )", "1 ", " ".join(_figures(words)))


def _figures(words: list[str]) -> list[str]:
    """Return number words as figures; 'twenty seventh' → '27th', 'forty five' → '45', but 'three thirty' → '3 30'."""
    figures: list[str] = []
    tens = 0
    for word in words:
        if word in _TENS:
            figures.append(str(tens := _TENS[word]))
            continue
        if tens and word in _ONES[1:10]:
            figures[-1] = str(tens + _ONES.index(word))
        elif tens and word in _ORDINALS[:9]:
            figures[-1] = f"{tens + _ORDINALS.index(word) + 1}th"
        else:
            figures.append(_FIGURES.get(word, word))
        tens = 0
    return figures
