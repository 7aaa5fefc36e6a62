"""Due notes come up in the user's next turn, by text and by voice, once in each conversation."""

from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.agent.context import Note
from backend.middleware.base import Asked
from backend.middleware.pipeline import Pipeline, discover
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.users.notes import Notes
from backend.users.profile_updates import SetPreference, update_profile

NOON = 1_795_262_400.0  # Saturday, 2026-11-21, 12:00 UTC


class Home:
    """All steps over a store of notes and a clock."""

    def __init__(self) -> None:
        self.now = NOON
        self.memory = FakeMemory()
        self.notes = Notes(FakeAsyncRedis(), clock=lambda: self.now)
        services: dict[Any, Any] = {Memory: self.memory, Notes: self.notes}
        self.pipeline = Pipeline(discover(), services)

    async def told(self, conversation: str = "c1", user: str = "ada", **more: Any) -> list[str]:
        """The notes that a turn is given."""
        prepared = await self.pipeline.before(Asked("What's the weather?", user, conversation, **more))
        given = prepared.outputs.get("due_notes")
        assert given is None or (isinstance(given, Note) and given.personal)
        return [each["text"] for each in given.data] if isinstance(given, Note) else []


async def test_a_due_note_is_in_the_next_turn_once_in_each_conversation() -> None:
    home = Home()
    await home.notes.add("ada", "call the plumber", "2026-11-21T13:00:00+00:00")
    assert await home.told() == []
    home.now += 3_600
    assert await home.told() == ["call the plumber"]
    assert await home.told() == []
    assert await home.told(source_mode="voice", domain="weather") == []
    assert await home.told("c2", source_mode="voice", domain="weather") == ["call the plumber"]


async def test_the_users_own_clock_decides() -> None:
    home = Home()
    await update_profile(home.memory, "ada", SetPreference("time_zone", "Asia/Tokyo"))
    await home.notes.add("ada", "call the plumber", "2026-11-21T21:30:00")  # 12:30 UTC
    assert await home.told() == []
    home.now += 1_800
    assert await home.told() == ["call the plumber"]


@pytest.mark.parametrize("domain", ["research", "reason"])
async def test_a_thinker_that_works_in_rounds_is_not_given_them(domain: str) -> None:
    home = Home()
    await home.notes.add("ada", "call the plumber", "2026-11-21T13:00:00+00:00")
    home.now += 3_600
    assert await home.told(source_mode="voice", domain=domain) == []
    assert await home.told() == ["call the plumber"]


async def test_nobody_is_told_anothers_and_nobody_unknown_any() -> None:
    home = Home()
    await home.notes.add("ada", "call the plumber", "2026-11-21T13:00:00+00:00")
    home.now += 3_600
    assert await home.told(user="bo") == await home.told(user="") == await home.told("") == []
    assert await home.told() == ["call the plumber"]
