"""Something of a user's in the recordings, for tests that ask what becomes of everything that is stored."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from tests.extensions.recordings.recorded import recorded, store_in


async def fill(data_dir: Path, redis: Redis, user: str) -> None:
    """Leave a recording of that user's in the server's files."""
    await recorded(store_in(data_dir / "recordings"), user)
