"""Abbreviations and acronyms are spoken in full, as a word, or letter by letter."""

import re

from backend.extensions.local.synthesis.verbalize.numbers import cardinal, ordinal, spelled
from backend.extensions.local.synthesis.verbalize.spans import Rule, rule
from backend.extensions.local.synthesis.verbalize.words import ABBREVIATED, ACRONYMS, EMPHASIS, TITLES, any_of

_COUNTED = "Chapter|Part|Act|Scene|Volume|Book|Phase|Type|Class|War|Bowl|Apollo|Section|Stage|Level|Article|Rocky|Mark"
_CROWNED = "Henry|Louis|Elizabeth|George|Charles|Edward|James|William|Richard|Philip|John|Paul|Pius|Benedict|Frederick"
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def acronym(letters: str) -> str | None:
    """Return the spoken form of a word in capitals; None if it is an ordinary word."""
    if letters in ACRONYMS:
        return ACRONYMS[letters]
    if letters in EMPHASIS:
        return letters.lower() if len(letters) > 1 else None
    return spelled(letters) if len(letters) <= 5 else None


def roman(numeral: str) -> int:
    """Return the value of a Roman numeral: 4 for "IV"."""
    values = [_ROMAN[letter] for letter in numeral]
    return sum(
        -value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def _title(match: re.Match[str]) -> str | None:
    """Return the spoken title; None after a name, where "St" is no title: Saint Louis, but Main Street."""
    before = re.search(r"(\w+) $", match.string[: match.start()])
    after_name = before is not None and before[1].istitle() and before[1].upper() not in EMPHASIS
    return None if after_name and match[1] in ("St", "Dr") else TITLES[match[1]]


def _in_full(match: re.Match[str]) -> str:
    spoken = ABBREVIATED[match[1]]
    ends_sentence = not match.string[match.end() :].strip()  # its period is also the full stop
    return spoken + ("." if match[1].endswith(".") and not spoken.endswith(".") and ends_sentence else "")


def _acronym(match: re.Match[str]) -> str | None:
    letters, plural = match.groups()
    shouted = not re.search(r"[a-z]{2}", match.string) and " " in match.string.strip()
    if shouted and letters not in ACRONYMS:
        return letters.lower() if len(letters) > 1 else None
    spoken = acronym(letters)
    return spoken + ("s" if plural else "") if spoken else None


ABBREVIATIONS: tuple[Rule, ...] = (
    rule(rf"(?<![\w.])({any_of(TITLES)})\.?(?= [A-Z][a-z])", _title),
    rule(rf"(?<![\w.])({any_of(ABBREVIATED)})(?![\w])", _in_full),
    rule(r"(?<![\w.])((?:[A-Za-z]\.){2,})(?!\w)", lambda match: match[1].upper()),
    rule(
        rf"(?<=\b)((?:{_COUNTED})) ((?=[IVXL])(?:X{{0,3}})(?:IX|IV|V?I{{0,3}}))\b",
        lambda m: f"{m[1]} {cardinal(str(roman(m[2])))}",
    ),
    rule(
        rf"\b({_CROWNED}) ((?=[IVX])(?:X{{0,3}})(?:IX|IV|V?I{{0,3}}))\b", lambda m: f"{m[1]} the {ordinal(roman(m[2]))}"
    ),
    rule(r"(?<![\w.])([A-Z]{2,6})(?:['’]?(s))?(?![\w])", _acronym),
)
"""The rules for abbreviations, in the order in which they are tried."""
