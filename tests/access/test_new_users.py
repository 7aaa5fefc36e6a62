"""What a new user writes expires soon; a user who returns keeps it; nobody else's data is touched."""

from __future__ import annotations

from pathlib import Path

from redis.asyncio import Redis

from backend.access.billing import BillingSubject, BillingSubjects
from backend.access.new_users import NewUserData
from backend.testing.memory import FakeMemory
from backend.users.memories import Memories
from tests.access.world import STRANGER
from tests.http.world import world
from tests.support.services import budgets_over

HOUR_S = 3600


async def test_a_new_users_memory_expires_and_is_kept_once_they_have_returned(redis: Redis) -> None:
    memories = Memories(redis)
    billing = BillingSubjects(redis)
    new_users = NewUserData(redis, billing.active, keep_s=72 * HOUR_S, retention_s=None)
    await billing.mark_new("new", 24 * HOUR_S)
    await memories.add("new", "likes tea")
    await memories.add("known", "likes coffee")
    await billing.note(BillingSubject("new"))
    await billing.note(BillingSubject("known"))
    await new_users.look()
    assert 0 < await redis.ttl("user:new:memories") <= 72 * HOUR_S
    assert await redis.ttl("user:known:memories") == -1
    await redis.delete("user:new:new")  # a day later
    await new_users.look()
    assert await redis.ttl("user:new:memories") == -1
    assert [one.text for one in await memories.all("new")] == ["likes tea"]


async def test_a_returning_users_memory_is_kept_as_long_as_the_settings_say(redis: Redis) -> None:
    await Memories(redis, ttl_s=72 * HOUR_S).add("back", "likes tea")
    await NewUserData(redis, lambda _: ["back"], keep_s=72 * HOUR_S, retention_s=30 * 24 * HOUR_S).look()
    assert await redis.ttl("user:back:memories") > 72 * HOUR_S


async def test_what_a_stranger_writes_over_http_expires_and_what_one_at_home_writes_does_not(tmp_path: Path) -> None:
    change = {"changes": [{"op": "add_fact", "text": "likes tea"}]}
    memory = FakeMemory()
    redis = memory._client.redis
    budgets = budgets_over(redis)
    async with world(tmp_path, memory=memory, services_with={"budgets": budgets}) as here:
        for headers in (STRANGER, {}):
            async with here.browser(headers=headers) as browser:
                assert (await browser.patch("/api/me", json=change)).status_code == 200
    await NewUserData(redis, budgets.billing.active, keep_s=72 * HOUR_S, retention_s=None).look()
    left = sorted([await redis.ttl(key) for key in await redis.keys("user:*:context")])
    assert left[0] == -1 and 0 < left[1] <= 72 * HOUR_S
