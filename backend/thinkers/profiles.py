"""The modes, for the tool that tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backend.storage.memory import Memory
from backend.users.modes import Modes
from backend.users.profile import load_profile


class ModeProfiles:
    """The `Profiles` service of the tools. `modes` are put in once they are read, which takes the tools' names."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.modes = Modes()

    def __repr__(self) -> str:
        return f"ModeProfiles({self.modes!r})"

    async def chosen(self, user_id: str) -> str:
        """See `Profiles.chosen`."""
        return self.modes.chosen(await load_profile(self._memory, user_id)).name

    def profile(self, name: str) -> Mapping[str, Any]:
        """See `Profiles.profile`; of an empty name, the default's."""
        mode = self.modes.get(name) if name else self.modes.named("")
        return {
            "mode": mode.name,
            "description": mode.description,
            "personality": mode.personality or "as usual",
            "told": mode.prompt or "nothing besides its task",
            "model": mode.model or "usual",
        }

    def names(self) -> tuple[str, ...]:
        """See `Profiles.names`."""
        return self.modes.names
