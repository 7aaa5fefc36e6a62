"""Spoken English numbers and names of days and months, as figures. Pure."""

from __future__ import annotations

import re

_NAMES = {
    "ones": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "ordinals": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth",
    "days": "monday tuesday wednesday thursday friday saturday sunday",
    "months": "january february march april may june july august september october november december",
}
_ONES, _ORDINALS, _DAYS, _MONTHS = (names.split() for names in _NAMES.values())
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_TENTHS = {"twentieth": 20, "thirtieth": 30}

WEEKDAYS = {name: number for number, day in enumerate(_DAYS) for name in (day, day[:3])}
WEEKDAYS |= {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
"""Name → 0 for Monday."""
MONTHS = {name: number for number, month in enumerate(_MONTHS, 1) for name in (month, month[:3])} | {"sept": 9}
"""Name → 1 for January."""


def plain(text: str) -> str:
    """A phrase in lower case, with figures for number words and one space between words.

    'Next Friday, half past three p.m.' → 'next friday , half past 3 pm'
    """
    text = text.lower().replace("’", "'").replace("\u202f", " ").replace("\u00a0", " ")
    text = re.sub(r"\b([ap])\.? ?m\b\.?", r"\1m", text)
    text = re.sub(r"(?<=\w)-(?=[a-z])", " ", text)
    text = re.sub(r"[.!?]+$", "", text.strip()).replace(",", " , ")
    words = re.sub(r"(\d)(am|pm)\b", r"\1 \2", text).split()
    return re.sub(r"\b(?:a|an) (?=(?:minute|hour|day|week|month|year)\b)(?<!half an )", "1 ", " ".join(_figures(words)))


def _figures(words: list[str]) -> list[str]:
    """Number words as figures; 'twenty seventh' → '27th', 'forty five' → '45', but 'three thirty' → '3 30'."""
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
            figures.append(_figure(word))
        tens = 0
    return figures


def _figure(word: str) -> str:
    if word in _ONES:
        return str(_ONES.index(word))
    if word in _ORDINALS:
        return f"{_ORDINALS.index(word) + 1}th"
    return f"{_TENTHS[word]}th" if word in _TENTHS else word
