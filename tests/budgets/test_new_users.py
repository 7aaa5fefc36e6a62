"""What a new user writes expires soon; whoever returns keeps it; nobody else's data is touched."""

from __future__ import annotations

from redis.asyncio import Redis

from backend.budgets.new_users import NewUsers
from backend.users.memories import Memories

HOUR_S = 3600


async def test_a_new_users_memory_expires_and_is_kept_once_they_have_returned(redis: Redis) -> None:
    memories = Memories(redis)
    new_users = NewUsers(redis, new_s=24 * HOUR_S, keep_s=72 * HOUR_S, retention_s=None)
    await new_users.mark("new")
    await memories.add("new", "likes tea")
    await memories.add("known", "likes coffee")
    new_users.touch("new")
    new_users.touch("known")
    await new_users.look()
    assert 0 < await redis.ttl("user:new:memories") <= 72 * HOUR_S
    assert await redis.ttl("user:known:memories") == -1
    await redis.delete("user:new:new")  # a day later
    await new_users.look()
    assert await redis.ttl("user:new:memories") == -1
    assert [one.text for one in await memories.all("new")] == ["likes tea"]


async def test_a_returning_users_memory_is_kept_as_long_as_the_settings_say(redis: Redis) -> None:
    new_users = NewUsers(redis, new_s=24 * HOUR_S, keep_s=72 * HOUR_S, retention_s=30 * 24 * HOUR_S)
    await Memories(redis, ttl_s=72 * HOUR_S).add("back", "likes tea")
    new_users.touch("back")
    await new_users.look()
    assert await redis.ttl("user:back:memories") > 72 * HOUR_S
