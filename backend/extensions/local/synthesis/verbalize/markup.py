"""Rules for marks that are written but not said: Markdown, emoji, and symbols with or without a name."""

from __future__ import annotations

import re
import unicodedata

from backend.extensions.local.synthesis.verbalize.numbers import NUMBER, cardinal, number
from backend.extensions.local.synthesis.verbalize.spans import Rule, rule
from backend.extensions.local.synthesis.verbalize.words import SYMBOLS

_KEPT = "'’.,;:!?—–-…\"“”() \n"
"""The punctuation that the voice turns into pauses or tone, or that is part of a word."""
_DASH = re.compile(r"[–-]+")
_PUNCTUATED = re.compile(r"[.,;:!?…—]\s*$")


def _item_number(match: re.Match[str]) -> str:
    return f"{cardinal(match[1])}, "


def _line_break(match: re.Match[str]) -> str:
    return (
        " " if _PUNCTUATED.search(match.string[: match.start()]) or not match.string[: match.start()].strip() else ", "
    )


def _rising(match: re.Match[str]) -> str | None:
    """Return a spoken range if the second number is greater; None otherwise: the mark may be a minus."""
    low, high = match.groups()
    return f"{cardinal(low)} to {cardinal(high)}" if int(low) < int(high) else None


MARKUP: tuple[Rule, ...] = (
    rule(r"```\w*\n?", ""),
    rule(r"</?[A-Za-z][^<>\n]*>", " "),
    rule(r"\[\^?\d+\]|【[^】]*】", ""),
    rule(r"(?m)^[ \t]*(?:#{1,6}|[-*+•–]|>)[ \t]+", ""),
    rule(r"(?m)^[ \t]*(\d{1,2})[.)][ \t]+(?=\S)", _item_number),
    rule(r"(?m)^[ \t]*(?:[-*_]{3,}|\|?[ \t]*:?-{2,}[-:| \t]*)[ \t]*$", ""),
    rule(r"(?<!\w)[:;=8][-']?[)(DPpO/](?!\w)|<3", ""),
    rule(r"[ \t]*\n\s*", _line_break),
    rule(r"[ \t]*\|[ \t]*(?=\S)", lambda match: ", " if match.string[: match.start()].strip(" |") else ""),
    rule(r"\*\*|__|~~|`+|\|", ""),
    rule(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", ""),
    rule(r"(?<=\w)_(?=\w)", " "),
)
"""The rules that are tried before all others."""
CALCULATION: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(\d+) [-–] (\d+)(?![\w.=]|\s?=)", _rising),
    rule(r"(?<=[\d)]) [-−] (?=[\d(])", " minus "),
    rule(r"(?<=[\d)])\s?\*\s?(?=[\d(])", " times "),
    rule(r"(?<=[\d)]) ?÷ ?(?=[\d(])| / (?=[\d(])", " divided by "),
    rule(r"(?<=[\dx])\^2(?!\d)|(?<=\w)²", " squared"),
    rule(r"(?<=[\dx])\^3(?!\d)|(?<=\w)³", " cubed"),
    rule(rf"(?<=\w)\^({NUMBER})", lambda match: f" to the power of {number(match[1])}"),
    rule(r"\s?>=\s?", " is at least "),
    rule(r"\s?<=\s?", " is at most "),
    rule(r"(?<=\w) < (?=\S)", " is less than "),
    rule(r"(?<=\w) > (?=\S)", " is greater than "),
    rule(r"(?<!\w)<(?=\d)", "less than "),
    rule(r"(?<!\w)>(?=\d)", "more than "),
    rule(r"(?<!\w)[~≈](?=[$€£]?\d)", "about "),
    rule(r"(?<=[A-Za-z])/(?=[A-Za-z])", " slash "),
    rule(r"(?<!\w)/(?=[A-Za-z])", "slash "),
)
REST: tuple[Rule, ...] = (
    rule(
        rf"(?<![\w.])({NUMBER})\s?[-–—]\s?({NUMBER})(?![\w])", lambda match: f"{number(match[1])} to {number(match[2])}"
    ),
    rule(
        r"(?<![\w.,])\d{1,3}(?:[ \u202f\u00a0]\d{3})+(?![\w,.]\d|\w)",
        lambda match: cardinal(re.sub(r"\D", "", match[0])),
    ),
    rule(rf"(?<![\w.)])[-−]({NUMBER})", lambda match: f"minus {number(match[1])}"),
    rule(rf"(?<!\w)\+({NUMBER})", lambda match: f"plus {number(match[1])}"),
    rule(r"(?<!\d)(\.\d+)", lambda match: number(match[1])),
    rule(rf"(?<=[A-Za-z])({NUMBER})(?=[A-Za-z])", lambda match: f" {number(match[1])} "),
    rule(rf"(?<=[A-Za-z])-?({NUMBER})", lambda match: f" {number(match[1])}"),
    rule(rf"({NUMBER})(?=[A-Za-z])", lambda match: f"{number(match[1])} "),
    rule(NUMBER, lambda match: number(match[0])),
    rule(r"\s*([&=≠≈≥≤±×÷→⇒←√∞%@+§°$€£¥παβγδΔλμµΩωΣσθ])\s*", lambda match: f" {SYMBOLS[match[1]]} "),
)
"""The rules that are tried last, for the digits and symbols that are left."""


def pronounceable(text: str) -> str:
    """Return text without the characters that the voice cannot speak: emoji, other scripts, stray symbols.

    Each word has a letter, and one space separates two. A dash or another mark between words joins the word before.
    """
    kept = (each if each in _KEPT or _is_latin(each) else "" if unicodedata.combining(each) else " " for each in text)
    parted = re.sub(r"(?<=\w)([,;:!?])(?=\w)", r"\1 ", "".join(kept))
    words: list[str] = []
    for word in parted.split():
        if any(map(str.isalpha, word)):
            words.append(word.lstrip(",;:.!?—–-"))
        elif words and (mark := _DASH.sub("—", word).strip("()'’\"“”")) and not words[-1].endswith(mark):
            words[-1] = words[-1].rstrip(",;:") + mark  # a mark that stands alone joins the word before it
    return " ".join(words)


def _is_latin(letter: str) -> bool:
    return letter.isalpha() and unicodedata.name(letter, "").startswith("LATIN")
