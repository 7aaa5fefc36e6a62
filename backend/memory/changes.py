"""Hears what other processes change of a user, for the live calls of that user here.

Every change is told on one channel of Redis in the transaction that makes it, with the name of the process that made
it. Who was not listening (a lost connection) asks anew for every user with a call here: nothing is missed for good.
"""

from __future__ import annotations

import asyncio
import logging

from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable
from backend.memory.keys import CHANGES
from backend.memory.redis import RedisMemory

log = logging.getLogger(__name__)

LISTEN_S = 5.0
"""Seconds one wait for a message lasts; a connection that is dead is noticed by the next."""
REST_S = 1.0
"""Seconds between tries while Redis does not answer."""


async def follow_changes(waiting: Redis, memory: RedisMemory) -> None:
    """Until cancelled. `waiting` must allow reads that block."""
    while True:
        try:
            await _listen(waiting, memory)
        except (RedisError, OSError, TimeoutError, MemoryUnavailable) as error:
            log.info("changes made by other processes are not heard: %s", type(error).__name__)
            await asyncio.sleep(REST_S)


async def _listen(waiting: Redis, memory: RedisMemory) -> None:
    async with waiting.pubsub() as channel:
        async with asyncio.timeout(LISTEN_S):
            await channel.subscribe(CHANGES)
        for user_id in memory.watched():
            await _renew(memory, user_id)
        while True:
            async with asyncio.timeout(LISTEN_S + 1):
                message = await channel.get_message(ignore_subscribe_messages=True, timeout=LISTEN_S)
            if message is None:
                async with asyncio.timeout(LISTEN_S):
                    await channel.ping()
                continue
            origin, _, user_id = message["data"].decode().partition(" ")
            if origin != memory.origin and user_id in memory.watched():
                await _renew(memory, user_id)


async def _renew(memory: RedisMemory, user_id: str) -> None:
    memory.changed_elsewhere(user_id, await memory.user_context(user_id))
