"""Users' preferences, in the `preferences` of their context in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backend.storage.memory import Memory
from backend.users.profile import ContextUpdate, update_user


class MemoryPreferences:
    """The `Preferences` service of the tools."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return f"MemoryPreferences({self._memory!r})"

    async def update(self, user_id: str, update: ContextUpdate) -> Mapping[str, Any]:
        """See `Preferences.update`."""
        return (await update_user(self._memory, user_id, update)).preferences
