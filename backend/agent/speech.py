"""This module turns written text into speakable text: no markup, links as names, units as words. Pure.

A voice would read `**72°F**` as "star star seventy-two degree F". Every rule below turns one written form into what a
person would say. The order matters, since links hold punctuation that later rules would change.
"""

import html
import re
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

_UNITS = {
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°": ("degree", "degrees"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"),
    "mg/dL": ("milligram per deciliter", "milligrams per deciliter"),
    "mL/min": ("milliliter per minute", "milliliters per minute"),
    "kg/m²": ("kilogram per square meter", "kilograms per square meter"),
    "mmHg": ("millimeter of mercury", "millimeters of mercury"),
    "hPa": ("hectopascal", "hectopascals"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "m²": ("square meter", "square meters"),
    "%": ("percent", "percent"),
}
_NUMBER = r"(?<![\w.,])([-−–]?)(\d[\d,]*(?:\.\d+)?)"
_MEASURE = re.compile(_NUMBER + r"\s?(" + "|".join(map(re.escape, _UNITS)) + r")(?![\w/²])")
_RANGE = re.compile(
    r"(?<![\w.,-])(\d+(?:\.\d+)?)\s?[-–]\s?(?=\d+(?:\.\d+)?\s?(?:" + "|".join(map(re.escape, _UNITS)) + "))"
)
_URL = re.compile(r"<?\bhttps?://[^\s<>()\[\]]+(?:\([^\s<>()]*\))*[^\s<>()\[\].,;:!?'\"]>?|<?\bhttps?://\S+")
_PICTURES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3]")

TEXT_LIMIT = 10_000
"""The most characters of one text, about ten minutes of speech. The time of the patterns grows with the length."""

_Replacement = str | Callable[[re.Match[str]], str]


def speakable(text: str) -> str:
    """Return `text`, cut to `TEXT_LIMIT`, as it should be spoken: one paragraph of plain sentences."""
    text = text[:TEXT_LIMIT]
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    text = html.unescape(text)
    text = _joined(filter(None, map(_plain_line, text.splitlines())))
    for pattern, replacement in _SPOKEN:
        text = pattern.sub(replacement, text)
    return re.sub(r"\s+", " ", text).strip()


def _link_name(match: re.Match[str]) -> str:
    label = match[1].strip()
    return _host(label) if label.startswith("http") else label


def _host(url: str) -> str:
    """Return the name of the host: 'example.com' for 'https://www.example.com/a?b'."""
    try:
        name = urlsplit(url.strip("<>")).hostname or ""
    except ValueError:
        name = ""
    return name.removeprefix("www.") or "a link"


def _plain_line(line: str) -> str:
    """Return one line without heading marks, bullets, quotes and table bars."""
    line = line.strip()
    if re.fullmatch(r"[-*_=|:\s]{3,}", line):
        return ""  # It is a rule, or the line under a table's heading.
    if line.startswith("|"):
        line = ", ".join(cell for cell in (part.strip() for part in line.strip("|").split("|")) if cell)
    return re.sub(r"^(?:(?:[#>]+|[-*+•]|\d{1,2}[.)])\s+)+", "", line).strip()


def _joined(lines: Iterable[str]) -> str:
    """Join the lines as sentences. Where there are several, a line without final punctuation gets a full stop."""
    parts = list(lines)
    if len(parts) == 1:
        return parts[0]
    return " ".join(part if re.search(r"[.!?…:;,][\"'”’)]*$", part) else f"{part}." for part in parts)


def _measure(match: re.Match[str]) -> str:
    sign, number, unit = match.groups()
    singular, plural = _UNITS[unit]
    return f"{'minus ' if sign else ''}{number} {singular if number == '1' else plural}"


_INLINE: tuple[tuple[re.Pattern[str], _Replacement], ...] = (
    (re.compile(r"^[^\S\n]*(?:```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\[\]]+)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"), _link_name),
    (re.compile(r"\[\^?\d+(?:\s*,\s*\d+)*\]|【[^【】]*】"), ""),
    (_URL, lambda match: _host(match[0])),
    (re.compile(r"<br\s*/?>|</(?:p|li|div|tr)>", re.IGNORECASE), "\n"),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),
    (re.compile(r"\*\*(.+?)\*\*|__(.+?)__", re.DOTALL), lambda match: match[1] or match[2]),
    (re.compile(r"(?<![\w*])\*(?!\s)([^*\n]+?)(?<!\s)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(?!\s)([^_\n]+?)(?<!\s)_(?![\w_])"), r"\1"),
    (re.compile(r"~~(.+?)~~"), r"\1"),
    (re.compile(r"`+([^`\n]*)`+"), r"\1"),
    (re.compile(r"&#\w{8,};?"), ""),  # no character has such a number
)
_SPOKEN: tuple[tuple[re.Pattern[str], _Replacement], ...] = (
    (_PICTURES, ""),
    (_RANGE, r"\1 to "),
    (_MEASURE, _measure),
    (re.compile(r"\be\.g\.,?"), "for example"),
    (re.compile(r"\bi\.e\.,?"), "that is"),
    (re.compile(r"(?<=\w) & (?=\w)"), " and "),
    (re.compile(r"(?<![\w~])~\s?(?=\d)"), "about "),
    (re.compile(r"(?<=\d) ?[*×] ?(?=\d)"), " times "),
    (re.compile(r"(?<!\s)\s+([.,;:!?])(?=\s|$)"), r"\1"),
    (re.compile(r"[*`]{2,}|`|(?<!\S)[#*](?!\S)"), ""),
)
