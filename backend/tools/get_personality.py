"""Which mode is on, and what it makes of the assistant: its manner, its model, what it is told.

What modes there are, and which one a user has chosen, is not this tool's business: `Profiles` is injected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field

from backend.tools.base import OURS, Principal, Result, tool


class Profiles(Protocol):
    """The modes, and whose is which."""

    async def chosen(self, user_id: str) -> str:
        """The name of the mode a user has chosen, or the default's. Raises `MemoryUnavailable`."""
        ...

    def profile(self, name: str) -> Mapping[str, Any]:
        """What it makes of the assistant, as JSON data. Raises `NotFound`, which lists all."""
        ...

    def names(self) -> tuple[str, ...]:
        """All there are."""
        ...


@tool(
    "get_personality",
    "The assistant's own mode: its personality, what it is told, its model; of the mode that is on, or of a named one.",
    cache=False,
    clients=OURS | {"copilot"},
)
async def get_personality(
    principal: Principal,
    profiles: Profiles,
    mode: Annotated[str, Field(max_length=32, description="The mode to tell of; empty: the one that is on.")] = "",
) -> Result:
    """Raises `NotFound` for a mode there is not, or `MemoryUnavailable`."""
    on = principal.mode or (await profiles.chosen(principal.user_id) if principal.user_id else "")
    told = profiles.profile(mode.strip().lower() or on)
    return Result({**told, "is_on": told["mode"] == profiles.profile(on)["mode"], "modes": list(profiles.names())})
