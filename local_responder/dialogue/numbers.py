"""Numbers said as words, written as digits: "one metre eighty" becomes "1 metre 80". Pure."""

from __future__ import annotations

import re

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: value for value, word in enumerate(_SMALL)} | {word: 20 + 10 * at for at, word in enumerate(_TENS)}
_WORD = rf"(?:{'|'.join(_VALUES)}|hundred)"
_WHOLE = rf"{_WORD}(?:(?:\s+and)?[\s-]+{_WORD})*"
_NUMBER = re.compile(rf"\b(?P<whole>{_WHOLE})(?:\s+point(?P<decimals>(?:\s+{_WORD})+))?\b", re.IGNORECASE)


def digits(text: str) -> str:
    """`text` with every number in digits."""
    return _NUMBER.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    whole = str(_value(match["whole"]))
    decimals = "".join(str(_value(word)) for word in (match["decimals"] or "").split())
    return f"{whole}.{decimals}" if decimals else whole


def _value(words: str) -> int:
    """'one hundred and twenty five' is 125, and so is 'one twenty five', as heights are said."""
    value = 0
    for word in re.split(r"[\s-]+", words.lower()):
        if word == "hundred":
            value = max(1, value) * 100
        elif word != "and":
            number = _VALUES[word]
            value = value * 100 + number if 0 < value < 10 and number >= 10 else value + number
    return value
