"""Loads the plugins again when a file of theirs changes: RELOAD=true, for development.

What is loaded takes the place of what was there, as a whole; what cannot be loaded is named in the log, and
everything stays as it was.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from backend.errors import VoiceError

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
"""Seconds between two looks at the folders."""

Signature = frozenset[tuple[str, int, int]]
Swap = Callable[[], None]
"""Puts what was loaded in its place; called on the event loop."""


class PluginReloader:
    """Watches `folders`; `load` loads everything again in a thread, and raises what loading raises."""

    def __init__(self, folders: Sequence[Path], load: Callable[[], Swap]) -> None:
        self._folders = folders
        self._load = load
        self._seen = _signature(folders)

    def __repr__(self) -> str:
        return f"PluginReloader({len(self._seen)} files)"

    async def run(self) -> None:
        """Look at the folders until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            seen = await asyncio.to_thread(_signature, self._folders)
            if seen == self._seen:
                continue
            self._seen = seen
            try:
                swap = await asyncio.to_thread(self._load)
            except VoiceError as error:
                log.error("The plugins stay as they were: %s %s", error, error.hint)
            else:
                swap()
                log.info("The plugins were loaded again.")


def _signature(folders: Sequence[Path]) -> Signature:
    """Return path, time and size of each file."""
    found = set()
    for path in (path for folder in folders for path in folder.glob("*.py")):
        try:
            at = path.stat()
        except OSError:  # it is being replaced
            continue
        found.add((str(path), at.st_mtime_ns, at.st_size))
    return frozenset(found)
