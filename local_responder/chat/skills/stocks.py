"""Share prices: `get_stock_price(company)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from local_responder.chat.skill import Arguments, Asked, Result, Skill, field_named, having
from local_responder.dialogue.names import names_in

_COMPANY = (
    re.compile(
        r"\b(?:price|value|quote) (?:of|for) (?P<company>.+?)(?: stocks?| shares?)?(?: today| now)?$", re.IGNORECASE
    ),
    re.compile(r"\bhow(?: is| are|'s) (?P<company>.+?)(?: stocks?| shares?)? (?:doing|trading)\b", re.IGNORECASE),
    re.compile(r"^(?P<company>[\w&.\- ]+?) (?:stocks?|shares?|share price)\b", re.IGNORECASE),
)
_WATCHED = re.compile(r"\"watched_tickers\":\s*\[([^\]]*)\]")


def _fill(asked: Asked, schema: Mapping[str, Any]) -> list[Arguments]:
    field = field_named(schema, "company", "symbol", "ticker", "query")
    return [{field: company} for company in _companies(asked)] if field else []


def _companies(asked: Asked) -> list[str]:
    """The companies named; else the ones the user is known to watch."""
    if names := names_in(asked.plain):
        return names
    match = next((found for pattern in _COMPANY if (found := pattern.search(asked.plain))), None)
    if match and not re.match(r"(?:my|their|our|the)\b", match["company"], re.IGNORECASE):
        return re.split(r"\s+and\s+", match["company"].strip())
    watched = _WATCHED.search(asked.known)
    return re.findall(r"\"([^\"]+)\"", watched[1]) if watched else []


def _word(asked: Asked, result: Result) -> str:
    currency = "dollars" if result.get("currency", "USD") == "USD" else result["currency"]
    moved = result.get("direction", "unchanged")
    change = f"{moved} {abs(result['change_percent']):g} percent" if moved != "unchanged" else "unchanged"
    price = f"{result['price']:.2f}".removesuffix(".00")
    return f"{result['company']} is at {price} {currency}, {change} today."


SKILLS = (
    Skill(
        tool=r"stock|quote|share",
        fits=having(r"\b(?:stocks?|shares?|ticker|trading|quote|price)\b", r"\bhow(?: is| are|'s) .+ doing\b"),
        fill=_fill,
        word=_word,
        missing="Which company do you mean?",
    ),
)
