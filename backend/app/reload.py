"""Makes a saved plugin live: RELOAD=true, for development."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from backend.errors import VoiceError
from backend.thinkers.registry import ThinkerRegistry

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
"""Seconds between two looks at the folders."""


async def reload_saved(folders: Sequence[Path], load: Callable[[], ThinkerRegistry], live: ThinkerRegistry) -> None:
    """Put in `live` what `load` finds after each change, until cancelled; files with a fault leave it as it is."""
    seen = _saved(folders)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        try:
            found = await asyncio.to_thread(_saved, folders)
            if found == seen:
                continue
            seen = found
            live.take_over(await asyncio.to_thread(load))
        except (OSError, VoiceError) as error:  # OSError: a file was being replaced
            log.error("The plugins stay as they were: %s", error)
        else:
            log.info("The plugins were loaded again.")


def _saved(folders: Sequence[Path]) -> set[tuple[Path, int]]:
    """Return each file with the time of its last change."""
    return {(path, path.stat().st_mtime_ns) for folder in folders for path in folder.rglob("*.py")}
