"""Share prices: `get_stock_price(company)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Skill, field_named

_END = r"(?:'s)?(?:\s+(?:stocks?|shares?))?(?:\s+(?:today|now|right now|at the moment|please))*\W*$"
_COMPANY = (
    re.compile(r"\b(?:price|value|quote) (?:of|for) (?P<company>.+?)" + _END, re.IGNORECASE),
    re.compile(r"\bhow(?: is| are|'s) (?P<company>.+?)(?: stocks?| shares?)? (?:doing|trading)\b", re.IGNORECASE),
    re.compile(r"\b(?:what is|what's|is|at|for|of) (?P<company>[\w&.\- ]+?) (?:trading|stock)\b", re.IGNORECASE),
    re.compile(r"^(?P<company>[\w&.\- ]+?) (?:stocks?|shares?|share price)\b", re.IGNORECASE),
)
_FITS = re.compile(r"\b(?:stocks?|shares?|ticker|trading|quote|price)\b|\bhow(?: is| are|'s) .+ doing\b", re.IGNORECASE)
_WATCHED = re.compile(r"\"watched_tickers\":\s*\[([^\]]*)\]")


def _fits(sentence: str) -> bool:
    return bool(_FITS.search(sentence))


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    name = field_named(schema, "company", "symbol", "ticker", "query")
    return [{name: company} for company in _companies(asked)] if name else []


def _companies(asked: Asked) -> list[str]:
    """The companies named; else the ones the user is known to watch."""
    match = next((found for pattern in _COMPANY if (found := pattern.search(asked.sentence))), None)
    named = re.split(r"\s+and\s+", match["company"].strip()) if match else []
    companies = [re.sub(r"^(?:the|a)\s+", "", each, flags=re.IGNORECASE) for each in named]
    if any(not re.match(r"(?:my|their|our)\b", each, re.IGNORECASE) for each in companies):
        return companies
    watched = _WATCHED.search(asked.known)
    return re.findall(r"\"([^\"]+)\"", watched[1]) if watched else []


def _word(asked: Asked, result: Mapping[str, Any]) -> str:
    currency = "dollars" if result.get("currency", "USD") == "USD" else result["currency"]
    moved = result.get("direction", "unchanged")
    change = (
        f", {moved} {abs(result['change_percent']):g} percent today" if moved != "unchanged" else ", unchanged today"
    )
    price = f"{result['price']:.2f}".removesuffix(".00")
    return f"{result['company']} is at {price} {currency}{change}."


SKILL = Skill(
    tool=re.compile(r"stock|quote|share"),
    fits=_fits,
    fill=_fill,
    missing="Which company do you mean?",
    word=_word,
)
