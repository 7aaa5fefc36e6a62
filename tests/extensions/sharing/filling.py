"""Something of a user's among the shared links, for tests that ask what becomes of everything that is stored."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from backend.extensions.sharing.shared_links import SharedLinks


async def fill(data_dir: Path, redis: Redis, user: str) -> None:
    """Leave a link of that user's."""
    await SharedLinks(redis).share(user, "c1", days=7)
