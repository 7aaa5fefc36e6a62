"""A Redis that freezes, dies or sends nonsense costs a second at most, and is used again when it is back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from backend.errors import MemoryUnavailable
from backend.storage import keys
from backend.storage.client import connect
from backend.storage.memory import Memory
from backend.storage.messages import Message
from tests.support.redis_server import RedisProcess
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("redis")


@pytest.fixture
async def memory(server: RedisProcess) -> AsyncIterator[Memory]:
    opened = Memory(connect(server.url))
    yield opened
    await opened.close()


async def seconds_until_unavailable(work: Any) -> float:
    started = time.monotonic()
    with pytest.raises(MemoryUnavailable):
        await work
    return time.monotonic() - started


async def test_a_frozen_redis_costs_one_second_once(server: RedisProcess, memory: Memory) -> None:
    assert await memory.ping()
    server.freeze()
    assert await seconds_until_unavailable(memory.user_context("u1")) < 3
    assert await seconds_until_unavailable(memory.user_context("u1")) < 0.5
    server.thaw()
    await until(memory.ping)


async def test_a_hundred_calls_to_a_frozen_redis_cost_one_second_together(server: RedisProcess, memory: Memory) -> None:
    server.freeze()
    started = time.monotonic()
    message = Message("user", "hello", timestamp=1.0)
    answers = await asyncio.gather(
        *(memory.append_messages("u1", str(n), message) for n in range(100)), return_exceptions=True
    )
    assert all(isinstance(answer, MemoryUnavailable) for answer in answers)
    assert time.monotonic() - started < 20  # one after another they would take a hundred seconds
    server.thaw()


async def test_an_update_during_a_freeze_fails_in_time_and_is_not_half_done(
    server: RedisProcess, memory: Memory
) -> None:
    def freeze_in_the_middle(known: dict[str, Any]) -> dict[str, Any]:
        server.freeze()
        return {"name": "Zoë"}

    assert await seconds_until_unavailable(memory.update_user_context("u1", freeze_in_the_middle)) < 3
    server.thaw()
    await until(memory.ping)
    changed = await memory.update_user_context("u1", lambda known: {**known, "unit": "C"})
    assert changed in ({"unit": "C"}, {"name": "Zoë", "unit": "C"})  # the server may have read it before it froze


async def test_a_killed_redis_fails_immediately_and_is_found_again(server: RedisProcess, memory: Memory) -> None:
    await memory.append_messages("u1", "s1", Message("user", "hello", timestamp=1.0))
    server.kill()
    assert await seconds_until_unavailable(memory.recent_messages("u1", "s1")) < 0.8
    assert await memory.ping() is False
    server.start()
    await until(memory.ping)
    await memory.append_messages("u1", "s1", Message("user", "again", timestamp=2.0))
    assert [message.content for message in await memory.recent_messages("u1", "s1")] == ["again"]


async def test_a_foreign_value_is_refused(server: RedisProcess, memory: Memory) -> None:
    client = connect(server.url)
    await client.set(keys.context("u1"), "no JSON")
    await client.set(keys.conversation("u1", "s1"), "no list")
    await client.aclose()
    with pytest.raises(MemoryUnavailable):
        await memory.user_context("u1")
    with pytest.raises(MemoryUnavailable):
        await memory.recent_messages("u1", "s1")
    assert await memory.ping() is True


async def test_an_undecodable_message_is_skipped_but_kept_and_a_newer_versions_field_is_ignored(
    server: RedisProcess, memory: Memory
) -> None:
    client, key = connect(server.url), keys.conversation("u1", "s1")
    await client.rpush(
        key, b'{"role": "director"}', b'{"role":"user","content":"hi","at":1,"message_id":"m1","mood":"glad"}'
    )
    await client.expire(key, 60)
    assert [message.content for message in await memory.recent_messages("u1", "s1")] == ["hi"]
    assert await client.lindex(key, 0) == b'{"role": "director"}'
    await client.aclose()
