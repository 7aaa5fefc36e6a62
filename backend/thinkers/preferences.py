"""Users' preferences, in the `preferences` of their context in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backend.memory.base import Memory


class MemoryPreferences:
    """The `Preferences` service of the tools."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return f"MemoryPreferences({self._memory!r})"

    async def change(self, user_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """See `Preferences.change`."""

        def change_context(context: dict[str, Any]) -> dict[str, Any]:
            return {**context, "preferences": change(_preferences(context))}

        return _preferences(await self._memory.update_user_context(user_id, change_context))


def _preferences(context: dict[str, Any]) -> dict[str, Any]:
    known = context.get("preferences")
    return dict(known) if isinstance(known, dict) else {}
