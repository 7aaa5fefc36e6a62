"""This module reloads plugins when their files are saved: RELOAD=true, for development."""

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
    """After each change, put what `load` returns into `live`, until cancelled. If it fails, `live` stays as it is."""
    seen = _saved(folders)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        try:
            found = await asyncio.to_thread(_saved, folders)
            if found == seen:
                continue
            seen = found
            live.take_over(await asyncio.to_thread(load))
        except (OSError, VoiceError) as error:  # OSError: a file is just being replaced
            log.error("the plugins stay as they were: %s", error)
        else:
            log.info("the plugins were loaded again")


def _saved(folders: Sequence[Path]) -> set[tuple[Path, int]]:
    """Return each file with the time of its last change."""
    return {(path, path.stat().st_mtime_ns) for folder in folders for path in folder.rglob("*.py")}
