"""Keeps what users say of themselves: their home, their temperature unit, the shares they watch.

Where preferences live is not this tool's business: a `Preferences` service is injected. Every value is checked here,
since it will stand in prompts and steer other tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from backend.tools.base import Principal, Result, tool
from backend.tools.fetch import refused

WATCHED_LIMIT = 20
"""Shares a user can watch; the oldest falls off."""

Name = Literal["name", "default_location", "temperature_unit", "watched_tickers", "time_zone", "language"]


class Preferences(Protocol):
    """Where a user's preferences are kept."""

    async def change(self, user_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Read, change, write, atomically; gives what is now kept. Raises `MemoryUnavailable`."""
        ...


@tool(
    "remember_preference",
    "Keeps a preference that the user states about themselves, for this and later conversations. For watched_tickers, "
    "adds one ticker symbol.",
    requires_auth=True,
    cache=False,
    guidance="Preferences: keep one only when the user says it of themselves, such as 'I live in Bergen', 'I prefer "
    "Celsius' or 'watch Apple for me'. A place or a share they merely ask about is not a preference.",
)
async def remember_preference(
    principal: Principal,
    preferences: Preferences,
    name: Name,
    value: Annotated[str, Field(min_length=1, max_length=100, description="Its value; an IANA name for time_zone.")],
    forget: Annotated[bool, "True to drop it instead; for watched_tickers, that symbol."] = False,
) -> Result:
    """Raises `ToolFailed` for a value that cannot be one, `MemoryUnavailable` when it cannot be kept."""
    checked = value.strip() if forget else _checked(name, value.strip())

    def change(known: dict[str, Any]) -> dict[str, Any]:
        if name == "watched_tickers":
            return {**known, name: _watched(known.get(name), checked.upper(), forget=forget)}
        kept = {key: old for key, old in known.items() if key != name}
        return kept if forget else {**kept, name: checked}

    now_kept = await preferences.change(principal.user_id, change)
    return Result({"name": name, "now": now_kept.get(name)})


def _watched(known: Any, symbol: str, *, forget: bool) -> list[str]:
    others = [one for one in known if one != symbol] if isinstance(known, list) else []
    return others if forget else [*others, symbol][-WATCHED_LIMIT:]


def _checked(name: str, value: str) -> str:
    """`value` in the form it is kept in. Raises `ToolFailed` (not retryable)."""
    match name:
        case "temperature_unit" if value.lower() not in ("celsius", "fahrenheit"):
            raise refused("The temperature unit is either celsius or fahrenheit.")
        case "temperature_unit":
            return value.lower()
        case "time_zone" if not _is_zone(value):
            raise refused("The time zone must be an IANA name, e.g. Europe/Oslo.")
        case "watched_tickers" if not re.fullmatch(r"[A-Za-z]{1,6}(\.[A-Za-z]{1,3})?", value):
            raise refused("A ticker is a short symbol, e.g. AAPL. Look it up with get_stock_price first.")
        case "name" | "default_location" | "language" if not re.fullmatch(r"[\w .,'’()-]+", value):
            raise refused("That does not look like a name of a person, place or language.")
    return value


def _is_zone(value: str) -> bool:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
