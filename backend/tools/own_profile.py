"""A tool can read the preferences of the user it is called for. Its answer is then that user's own."""

from dataclasses import dataclass, field
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import Field

from backend.language.moments import zone_of
from backend.storage.memory import Memory, briefly
from backend.tools.fetch import refused
from backend.users.profile import Preferences, UserProfile, load_profile

WITHIN_S = 0.5
"""Seconds memory may take; after that the tool goes on without the profile."""
NO_ZONE = (
    "The user's time zone is not known: clock times are kept as said, without one. Ask where they are, and keep it "
    "with remember_preference."
)

When = Annotated[str, Field(max_length=100)]
Zone = Annotated[
    str, Field(max_length=64, description="IANA name, only if the user means another place's time than their own.")
]


@dataclass(eq=False, repr=False)
class OwnProfile:
    """A service for tools: the preferences of the call's user. Results that use them are cached for that user alone."""

    user_id: str
    memory: Memory | None
    used: bool = field(default=False, init=False)
    """Whether the tool has read them."""

    async def preferences(self) -> Preferences:
        """Return the user's preferences; empty for an unknown caller, or while memory does not answer."""
        self.used = True
        if not self.user_id or self.memory is None:
            return Preferences()
        loading = load_profile(self.memory, self.user_id)
        warning = "a tool goes on without the user's preferences"
        return (await briefly(loading, UserProfile(), within_s=WITHIN_S, warning=warning)).preferences

    async def zone(self, said: str) -> ZoneInfo | None:
        """Return the time zone that applies: the named one, or the user's own, or None. Raises `ToolFailed`."""
        name = said or (await self.preferences()).time_zone
        zone = zone_of(name) if name else None
        if said and zone is None:
            raise refused("The time zone must be an IANA name, e.g. Europe/Oslo.")
        return zone
