"""Writing to memory never keeps a call waiting, whatever memory does."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from backend.errors import MemoryUnavailable
from backend.storage.client import TIMEOUT_S, connect
from backend.storage.memory import Memory, MemoryJob
from backend.storage.messages import Message
from backend.storage.outbox import CHANCES, Outbox
from backend.testing.memory import FakeMemory
from tests.support.redis_server import running_redis
from tests.support.waiting import until


def noting(notes: list[int], number: int) -> MemoryJob:
    async def job(memory: Memory) -> None:
        await memory.ping()
        notes.append(number)

    return job


def failing(error: Callable[[], Exception]) -> MemoryJob:
    async def job(memory: Memory) -> None:
        raise error()

    return job


def keeping(notes: list[int], number: int) -> MemoryJob:
    async def job(memory: Memory) -> None:
        await memory.cache_put("shared", "key", "value", 60)  # unlike `ping`, raises while memory is down
        notes.append(number)

    return job


def appending(message: Message) -> MemoryJob:
    async def job(memory: Memory) -> None:
        await memory.append_messages("ada", "c", message)

    return job


async def stuck(memory: Memory) -> None:
    await asyncio.Event().wait()


async def test_jobs_enqueued_during_an_outage_are_done_after_it_in_order(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[int] = []
    memory = FakeMemory()
    outbox = Outbox(memory)
    memory.down = True
    for number in range(20):
        outbox.enqueue(keeping(notes, number))
    with caplog.at_level(logging.INFO):
        await until(lambda: bool(caplog.records))
        assert notes == []
        memory.down = False
        await outbox.settle(5.0)
    assert notes == list(range(20))
    assert (outbox.failed, outbox.dropped) == (0, 0)
    began, ended = [record.getMessage() for record in caplog.records]
    assert began.startswith("the memory is out of reach; calls go on, and their writes wait: ")
    assert ended == "the memory answers again; 0 writes were lost so far"


async def test_a_long_outage_drops_the_oldest_jobs_and_says_how_many(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[int] = []
    memory = FakeMemory()
    outbox = Outbox(memory, limit=3)
    memory.down = True
    outbox.enqueue(keeping(notes, 0))
    await until(lambda: bool(caplog.records))
    for number in range(1, 6):
        outbox.enqueue(keeping(notes, number))
    memory.down = False
    await outbox.settle(5.0)
    assert notes == [4, 5]  # settling itself takes a place
    assert outbox.dropped == 4
    assert "4 writes were lost so far" in caplog.text


async def test_a_job_that_memory_keeps_refusing_is_dropped_in_the_end() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    tries: list[int] = []

    async def refused(_memory: Memory) -> None:
        tries.append(1)
        raise MemoryUnavailable("Redis refused.")

    outbox.enqueue(refused)
    outbox.enqueue(noting(notes, 1))
    await outbox.drain(5.0)
    assert (len(tries), outbox.failed, notes) == (CHANCES, 1, [1])


async def test_history_that_redis_stored_without_answering_is_stored_once() -> None:
    with running_redis() as server:
        memory = Memory(connect(server.url))
        outbox = Outbox(memory)
        said = [Message("user", f"number {number}", float(number)) for number in range(5)]
        outbox.enqueue(appending(said[0]))
        await outbox.settle(5.0)
        server.freeze()
        for message in said[1:]:
            outbox.enqueue(appending(message))
        await asyncio.sleep(TIMEOUT_S + 0.3)  # the first of them is in Redis's socket, and its answer given up
        server.thaw()
        await outbox.settle(10.0)
        kept = await memory.recent_messages("ada", "c", 20)
        await memory.close()
    assert [message.content for message in kept] == [message.content for message in said]
    assert (outbox.failed, outbox.dropped) == (0, 0)


async def test_a_mistake_in_one_job_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    outbox.enqueue(failing(lambda: TypeError("a bug")))
    outbox.enqueue(noting(notes, 1))
    await outbox.drain(1.0)
    assert notes == [1]
    assert "reason of its own" in caplog.text


async def test_draining_ends_in_time_and_counts_lost_jobs() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    outbox.enqueue(stuck)
    outbox.enqueue(noting(notes, 1))
    await outbox.drain(0.05)
    outbox.enqueue(noting(notes, 2))
    assert notes == []
    assert outbox.dropped == 3
    assert outbox.depth == 0


async def test_settling_waits_for_all_earlier_jobs() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    for number in range(5):
        outbox.enqueue(noting(notes, number))
    outbox.enqueue(failing(lambda: MemoryUnavailable("gone")))
    await outbox.settle(10.0)
    assert notes == list(range(5)) and outbox.failed == 1
    outbox.enqueue(noting(notes, 5))
    await outbox.settle(1.0)
    assert notes[-1] == 5


async def test_settling_on_a_stuck_memory_times_out() -> None:
    outbox = Outbox(FakeMemory())
    outbox.enqueue(stuck)
    with pytest.raises(MemoryUnavailable):
        await outbox.settle(0.05)
    await outbox.drain(0.05)
