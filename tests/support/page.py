"""The real page on the real HTTP edge, with calls and memory that are fakes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.http.world import World, world

FRONTEND = Path(__file__).parents[2] / "frontend"


@contextlib.asynccontextmanager
async def page_world(folder: Path, **settings: Any) -> AsyncIterator[World]:
    """A `World` that serves the project's own page."""
    (folder / "page").symlink_to(FRONTEND, target_is_directory=True)
    async with world(folder, page=False, **settings) as here:
        yield here
