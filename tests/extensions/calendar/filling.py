"""Something of a user's in the calendar, for tests that ask what becomes of everything that is stored."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from backend.extensions.calendar.local import LocalStore


async def fill(data_dir: Path, redis: Redis, user: str) -> None:
    """Leave an event of that user's in the server's files."""
    await LocalStore(data_dir / "calendars").create(user, "e1.ics", "BEGIN:VCALENDAR")
