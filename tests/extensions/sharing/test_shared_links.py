"""Shared links in a real Redis: each leads to its owner only, and deleted ones leave nothing behind."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis

from backend.errors import BadRequest
from backend.extensions.sharing.shared_links import DAY_S, LINKS_LIMIT, SharedLinks
from backend.storage.client import connect
from tests.support.redis_server import running_redis

NOW = 4_000_000_000.0  # beyond the clock of any Redis: nothing expires there by itself


@asynccontextmanager
async def shared_links() -> AsyncIterator[tuple[SharedLinks, Redis, list[float]]]:
    """The store, its Redis, and its clock."""
    now = [NOW]
    with running_redis() as server:
        client = connect(server.url)
        try:
            yield SharedLinks(client, clock=lambda: now[0]), client, now
        finally:
            await client.aclose()


async def keys(redis: Redis) -> list[Any]:
    return list(await redis.keys("*"))


async def test_a_link_leads_to_its_owner_until_it_expires() -> None:
    async with shared_links() as (links, redis, now):
        link = await links.share("ada", "c1", days=2)
        assert await links.find(link.id) == ("ada", link)
        assert await links.find("unknown") is None
        left_s = await redis.ttl(f"shared-link:{link.id}")
        assert left_s == pytest.approx(NOW + 2 * DAY_S - time.time(), abs=30)
        now[0] += 2 * DAY_S
        assert await links.find(link.id) is None and await links.of("ada") == []


async def test_links_that_are_revoked_or_erased_leave_nothing() -> None:
    async with shared_links() as (links, redis, _):
        first, second, third = [await links.share("ada", name, days=1) for name in ("c1", "c2", "c2")]
        assert [link.id for link in await links.of("ada")] == [third.id, second.id, first.id]
        assert await links.revoke("ada", first.id) and not await links.revoke("ada", first.id)
        await links.forget_conversation("ada", "c2")
        assert await links.of("ada") == [] and await keys(redis) == []
        await links.share("ada", "c3", days=1)
        await links.erase("ada")
        assert await keys(redis) == []


async def test_the_number_of_links_is_limited_and_expired_ones_make_room() -> None:
    async with shared_links() as (links, redis, now):
        for _ in range(LINKS_LIMIT):
            await links.share("ada", "c1", days=1)
        with pytest.raises(BadRequest, match="already"):
            await links.share("ada", "c1", days=1)
        now[0] += DAY_S
        await links.share("ada", "c1", days=1)
        assert len(await links.read("ada")) == 1 and len(await keys(redis)) == 2
