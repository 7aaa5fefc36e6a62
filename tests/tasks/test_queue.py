"""What the queue's patience reaches into, held to what it is in the version that is installed."""

from __future__ import annotations

import asyncio
import time

from backend.tasks.queue import WAIT_S, open_queue
from tests.support.redis_server import running_redis


async def test_a_quiet_channel_is_waited_for_and_a_message_ends_the_wait_at_once() -> None:
    with running_redis() as server:
        async with open_queue(server.url) as queue, queue.docket._pubsub() as subscription:
            await subscription.psubscribe(queue.docket.key("cancel:*"))
            confirmed = await subscription.get_message(ignore_subscribe_messages=False, timeout=0.1)
            assert confirmed is not None and confirmed["type"] == "psubscribe"
            began = time.monotonic()
            assert await subscription.get_message(ignore_subscribe_messages=False, timeout=0.1) is None
            assert time.monotonic() - began >= 0.9 * WAIT_S
            waiting = asyncio.create_task(subscription.get_message(ignore_subscribe_messages=False, timeout=0.1))
            await asyncio.sleep(0.05)
            await queue.docket._publish(queue.docket.key("cancel:t1"), "t1")
            message = await waiting
            assert message is not None and message["data"] == b"t1", "where the wait ends by itself there is none"


async def test_a_worker_listens_for_cancellations_that_way() -> None:
    from docket import Worker

    with running_redis() as server:
        async with open_queue(server.url) as queue, Worker(queue.docket, schedule_automatic_tasks=False) as worker:
            listens = worker._cancellation_listener.__code__.co_names
            assert {"_pubsub", "get_message", "psubscribe"} <= set(listens)
