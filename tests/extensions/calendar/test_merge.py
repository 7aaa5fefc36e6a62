"""A calendar that is out of reach while its user signs in."""

from __future__ import annotations

import pytest

from backend.extensions.calendar.local import LocalStore
from backend.users.memories import Memories
from tests.http.test_sign_in import sign_in
from tests.outside.test_merge import exported, issuer, looking_at, redis_server, server_for, user_of
from tests.support.redis_server import RedisProcess
from tests.support.running_server import a_browser

__all__ = ["issuer", "redis_server"]  # fixtures
pytestmark = pytest.mark.slow


async def test_a_store_that_fails_stops_neither_the_sign_in_nor_the_others_and_is_moved_at_the_next(
    issuer: str, redis_server: RedisProcess
) -> None:
    with server_for(issuer, redis_server) as server:
        calendars = server.folder / "var" / "calendars"
        async with looking_at(redis_server) as redis, a_browser(server) as browser:
            visitor = await user_of(browser)
            await Memories(redis).add(visitor, "buy milk")
            await LocalStore(calendars).create(visitor, "e1.ics", "BEGIN:VCALENDAR")
            (calendars / "lock").unlink()
            (calendars / "lock").mkdir()
            await sign_in(browser, "ada")
            after = await exported(browser)
            assert [each["text"] for each in after["memories"]] == ["buy milk"] and not after["calendar"]
            (calendars / "lock").rmdir()
            async with a_browser(server) as elsewhere:
                await sign_in(elsewhere, "ada")
                assert list((await exported(elsewhere))["calendar"]) == ["e1.ics"]
