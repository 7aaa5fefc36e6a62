"""This tool keeps preferences that users state: their home, their temperature unit, the shares they watch.

`users.profile_updates` checks the values, since they stand in prompts and steer other tools.
"""

from typing import Annotated

from pydantic import Field

from backend.access.principal import ToolScope
from backend.errors import BadRequest
from backend.storage.memory import Memory
from backend.tools.base import Result, ToolContext, tool
from backend.tools.fetch import refused
from backend.users.profile import PreferenceName
from backend.users.profile_updates import (
    DropPreference,
    ProfileUpdate,
    SetPreference,
    WatchTicker,
    update_profile,
)


@tool(
    "remember_preference",
    "Keeps a preference that the user states about themselves, for this and later conversations. For watched_tickers, "
    "adds one ticker symbol.",
    scope=ToolScope.SIGNED_IN,
    writes=True,
    cache=False,
    always=True,
    guidance="Preferences: keep one only when the user says it of themselves, such as 'I live in Bergen', 'I prefer "
    "Celsius' or 'watch Apple for me'. A place or a share they merely ask about is not a preference, nor is a place "
    "where they are just now: 'I'm in Paris' changes no home.",
)
async def remember_preference(
    context: ToolContext,
    memory: Memory,
    name: PreferenceName,
    value: Annotated[str, Field(min_length=1, max_length=100, description="Its value; an IANA name for time_zone.")],
    forget: Annotated[bool, "True to drop it instead; for watched_tickers, that symbol."] = False,
) -> Result:
    """Keep or drop a preference. Raises `ToolFailed` for an invalid value, or `MemoryUnavailable`."""
    try:
        if name == "watched_tickers":
            update: ProfileUpdate = WatchTicker(value, watched=not forget)
        else:
            update = DropPreference(name) if forget else SetPreference(name, value)
    except BadRequest as error:
        raise refused(str(error)) from error
    profile = await update_profile(memory, context.user_id, update)
    return Result({"name": name, "now": profile.stored().get("preferences", {}).get(name)})
