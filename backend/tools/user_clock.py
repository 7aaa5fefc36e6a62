"""The user's own clock, for tools that take a time: their time zone, and the arguments in which a time is sent."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from backend.language.moments import zone_of
from backend.storage.memory import Memory, briefly
from backend.tools.fetch import refused
from backend.users.profile import UserProfile, load_profile

MEMORY_WITHIN_S = 0.5
"""Seconds to wait for the user's time zone."""
NO_ZONE = (
    "The user's time zone is not known: clock times are kept as said, without one. Ask where they are, and keep it "
    "with remember_preference."
)

When = Annotated[str, Field(max_length=100)]
Zone = Annotated[
    str, Field(max_length=64, description="IANA name, only if the user means another place's time than their own.")
]


async def zone_for(memory: Memory, user_id: str, said: str) -> ZoneInfo | None:
    """Return the time zone that applies: the one named, else the user's own, else None. Raise `ToolFailed`."""
    if said:
        if (zone := zone_of(said)) is None:
            raise refused("The time zone must be an IANA name, e.g. Europe/Oslo.")
        return zone
    warning = "a tool continues without the user's time zone"
    loading = load_profile(memory, user_id)
    profile = await briefly(loading, UserProfile(), within_s=MEMORY_WITHIN_S, warning=warning)
    return zone_of(profile.preferences.time_zone) if profile.preferences.time_zone else None
