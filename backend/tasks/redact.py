"""Takes out of texts that are kept what nobody should find there: keys, tokens, passwords, addresses, numbers."""

from __future__ import annotations

import re
from typing import Any

TEXT_LIMIT = 8_000
"""Characters kept of one text."""
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"\b(?:sk|pk|rk|ls|gh[pousr]|xox[abprs]|github_pat|AKIA)[-_]?[A-Za-z0-9_-]{16,}\b")),
    ("token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}")),
    ("token", re.compile(r"(?i)(?<=\bbearer )[A-Za-z0-9._~+/=-]{8,}")),
    (
        "secret",
        re.compile(
            r"(?i)(?<![\w])(?:api[_-]?key|access[_-]?token|token|secret|passwor[dt]|passphrase)"
            r"(?:[\"']?\s*(?:[:=]|\bis\b)\s*[\"']?)(?P<hide>[^\s\"',;]{4,})"
        ),
    ),
    ("password", re.compile(r"(?<=://)[^\s/:@]+:(?P<hide>[^\s/@]+)(?=@)")),
    ("e-mail", re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    ("number", re.compile(r"\+\d[\d ()./-]{7,17}\d")),
    ("number", re.compile(r"(?<![\d-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d-])")),
    ("number", re.compile(r"(?<![\d.,-])0\d{2,4}[ /-]\d{5,9}(?![\d-])")),
)


def redacted(text: str) -> str:
    """The text with `[key]`, `[e-mail]`, `[number]`… where there was one, and no longer than is kept."""
    for name, pattern in _PATTERNS:
        text = pattern.sub(lambda match, name=name: _hidden(match, name), text)  # type: ignore[misc]
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]} … ({len(text) - TEXT_LIMIT} characters more)"


def redacted_data(value: Any) -> Any:
    """JSON data with every text in it redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, list):
        return [redacted_data(each) for each in value]
    if isinstance(value, dict):
        return {name: redacted_data(each) for name, each in value.items()}
    return value


def _hidden(match: re.Match[str], name: str) -> str:
    if "hide" not in match.re.groupindex:
        return f"[{name}]"
    begin, end = match.span("hide")
    return f"{match.string[match.start() : begin]}[{name}]{match.string[end : match.end()]}"
