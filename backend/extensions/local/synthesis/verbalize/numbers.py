"""Number words. They come from hibari's own tables; this module chooses their form."""

import re

from hibari.g2p import numbers as words

LONGEST_CARDINAL = 15
"""The most digits of a number that is read as a whole; a longer one is read digit by digit."""
NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
"""The pattern of a number: 1,234.5 or 1234.5."""
SCALES = {
    **dict.fromkeys(("k", "K", "thousand"), "thousand"),
    **dict.fromkeys(("M", "m", "mn", "mio", "million"), "million"),
    **dict.fromkeys(("B", "b", "bn", "billion"), "billion"),
    **dict.fromkeys(("T", "tn", "trillion"), "trillion"),
}
_DENOMINATORS = {2: ("half", "halves"), 4: ("quarter", "quarters")}


def cardinal(digits: str) -> str:
    """Return "twelve" for "12"; commas between thousands are allowed, and leading zeros are read out."""
    digits = digits.replace(",", "")
    if len(digits) > LONGEST_CARDINAL or (len(digits) > 1 and digits[0] == "0"):
        return one_by_one(digits)
    return str(words.cardinal(int(digits)))


def number(text: str) -> str:
    """Return "minus three point one four" for "-3.14"; every decimal is read, as it was written."""
    text, sign = (text[1:], "minus ") if text[:1] in "-−" else (text.removeprefix("+"), "")
    whole, _, decimals = text.partition(".")
    spoken = cardinal(whole or "0")
    return sign + (f"{spoken} point {one_by_one(decimals)}" if decimals else spoken)


def is_one(text: str) -> bool:
    """Return whether a noun after this number is singular."""
    return text.lstrip("+-−") == "1"


def ordinal(value: int) -> str:
    """Return "twenty-first" for 21."""
    return str(words.ordinal(value))


def year(value: int) -> str:
    """Return "nineteen oh five" for 1905, "two thousand and five" for 2005, and "twenty twenty-six" for 2026."""
    return str(words.year(value)).replace("oh-", "oh ")


def decade(value: int) -> str:
    """Return "nineteen eighties" for 1980, and "two thousands" for 2000."""
    spoken = year(value)
    return spoken[:-1] + "ies" if spoken.endswith("y") else spoken + "s"


def one_by_one(text: str) -> str:
    """Return "zero zero seven" for "007"; all characters but digits are dropped."""
    return " ".join(words.cardinal(int(digit)) for digit in re.findall(r"[0-9]", text))


def grouped(groups: list[str]) -> str:
    """Return groups of digits read one by one, with a short pause between the groups."""
    return ", ".join(one_by_one(group) for group in groups if group)


def fraction(above: int, below: int) -> str:
    """Return "three quarters" for 3 and 4."""
    singular, plural = _DENOMINATORS.get(below, (ordinal(below), ordinal(below) + "s"))
    return f"{words.cardinal(above)} {singular if above == 1 else plural}"


def spelled(letters: str) -> str:
    """Return "A.P.I." for "API": with periods, the voice names each letter, and stresses them as an abbreviation."""
    return "".join(letter.upper() + "." for letter in letters if letter.isalpha())


def letters_and_digits(code: str) -> str:
    """Return "U.A. four eight two" for "UA482"."""
    parts = re.findall(r"[A-Za-z]+|\d+", code)
    return " ".join(spelled(part) if part.isalpha() else one_by_one(part) for part in parts)
