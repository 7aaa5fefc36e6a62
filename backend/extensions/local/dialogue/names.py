"""Names in a sentence: places, companies, people. Pure."""

import re

from backend.extensions.local.dialogue.times import TIME

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’.&-]*"
_NAME = rf"{_CAPITAL}(?:(?: (?:of|de|la|del|los|am|upon) |, (?=[A-Z]{{2}}\b)| |-){_CAPITAL})*"
_NO_NAME = re.compile(
    r"^(?:I|I'\w+|Celsius|Fahrenheit|OK|Okay|And|What|Is|Are|The|My|BMI|GitHub|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)$"
)
_AFTER = re.compile(
    r"(?:\b(?:in|for|near|around|(?:fly|travel|driv|mov)(?:e|ing)? to)|\b(?:what|how) about)\s+(?P<rest>[^,?.!]+)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[\s,]*\b(?:please|currently|later|be|like|there|outside|on|at|"
    r"(?:in |at )?(?:celsius|fahrenheit|the \w+))[\s?.!,]*)+$",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"^(?:the|an?|my|your|it|this|that|here|there|general|now|weather|celsius|fahrenheit|\d.*)\b", re.IGNORECASE
)


def names_in(sentence: str) -> list[str]:
    """Return the capitalised names within a sentence; its first word counts only if there is no other name."""
    inner = re.finditer(rf"(?<=[\w,;:] ){_NAME}", sentence)
    return [name for each in inner if not _NO_NAME.match(name := re.sub(r"['’]s$|[.]$", "", each[0]))]


def places_in(sentence: str) -> list[str]:
    """Return the places that a sentence names, in its order and with capitals; [] if there are none."""
    clean = _TAIL.sub("", TIME.sub(",", sentence).strip(" ?.!,"))
    if names := names_in(clean):
        return names
    found = _AFTER.search(clean)
    parts = re.split(r"\s+and\s+(?:in\s+)?", found["rest"]) if found else []  # in lower case, a part may be no place
    return [part.strip(" ,").title() for part in parts if part and not _NO_PLACE.match(part) and len(part) <= 60]
