"""The words for a time in a sentence are found and separated; the tools read them. Pure."""

import re
from dataclasses import dataclass

_ONES = "one|two|three|four|five|six|seven|eight|nine"
_NUMBER = rf"(?:\d+|(?:twenty|thirty|forty|fifty)(?:[ -](?:{_ONES}))?|{_ONES}|ten|eleven|twelve|fifteen)"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_PART = r"(?:morning|afternoon|evening|night)"
_AHEAD = (
    rf"in (?:about )?(?:half an hour|(?:{_NUMBER}|an?) (?:second|minute|hour|day|week|month)s?"
    rf"(?: and (?:a half|{_NUMBER} (?:second|minute|hour)s?))?)"
)
_DATE = (
    rf"\d{{4}}-\d\d-\d\d|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|"
    rf"{_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?"
)
_DAY = (
    rf"(?:(?:on|for|by) )?(?:(?:(?:this|next|coming) )?{_WEEKDAY}|today|tomorrow|{_DATE})(?: {_PART})?|tonight|"
    rf"(?:in )?this {_PART}|(?:on |at |over )?(?:the|this) weekend|(?:for |in )?next (?:week|month)"
)
_HOUR = (
    r"(?:at |around )(?:(?:half past|quarter (?:past|to)) )?"
    rf"(?:noon|midnight|{_NUMBER}(?:[: ](?:\d\d|fifteen|thirty|forty[ -]five))?)"
    r"(?: o'clock)?(?: ?[ap]\.?m\b\.?| in the (?:morning|afternoon|evening))?"
    rf"|(?:for|by) {_NUMBER}(?:[: ]\d\d)?(?: o'clock| ?[ap]\.?m\b\.?)"
)
_EVERY = rf"(?:every (?:day|weekday|morning|evening|week|month|year|{_WEEKDAY})|daily)"
_ANY = rf"(?:{_AHEAD}|{_DAY}|{_HOUR}|{_EVERY})"
TIME = re.compile(rf"\b(?:right now|(?<!from )now|{_ANY}(?:,? {_ANY})*)(?!\w)", re.IGNORECASE)
"""The pattern of a spoken time, of any number of parts."""
_DAYS = re.compile(rf"\b(?:{_DAY})\b", re.IGNORECASE)
_HOURS = re.compile(rf"\b(?:{_HOUR})(?!\w)", re.IGNORECASE)
_LEADING = re.compile(r"^(?:on|for|by|over|in|at)\s+(?=\D)|^the\s+(?=weekend)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Timed:
    """A sentence without the time that it names, and that time, which is empty if it names none."""

    text: str
    when: str = ""

    @property
    def day(self) -> str:
        """The day, as the tools read it."""
        found = _DAYS.search(self.when)
        return _LEADING.sub("", found[0]) if found else ""

    @property
    def has_hour(self) -> bool:
        """Return whether the time names an hour."""
        return bool(_HOURS.search(self.when))


def timed(sentence: str) -> Timed:
    """Return the sentence and its time, separated; of several times, the longest counts."""
    found = max(TIME.finditer(sentence), key=lambda each: len(each[0]), default=None)
    if found is None:
        return Timed(sentence)
    rest = f"{sentence[: found.start()].rstrip(' ,')} {sentence[found.end() :].lstrip(' ,')}"
    return Timed(rest.strip(), found[0])
