"""Writing to memory never keeps a call waiting, whatever memory does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from backend.errors import MemoryUnavailable
from backend.memory.base import Memory, MemoryJob
from backend.memory.fake import FakeMemory
from backend.memory.outbox import Outbox
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


async def stuck(memory: Memory) -> None:
    await asyncio.Event().wait()


async def test_jobs_are_done_in_the_order_they_were_put() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    for number in range(10):
        outbox.put(noting(notes, number))
    assert outbox.depth == 10
    await outbox.drain(1.0)
    assert notes == list(range(10))
    assert (outbox.depth, outbox.dropped, outbox.failed) == (0, 0, 0)


async def test_a_full_outbox_drops_the_oldest() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory(), limit=3)
    for number in range(5):
        outbox.put(noting(notes, number))
    assert outbox.dropped == 2
    await outbox.drain(1.0)
    assert notes == [2, 3, 4]


async def test_a_job_put_after_the_outbox_was_empty_is_done_too() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    outbox.put(noting(notes, 0))
    await until(lambda: notes == [0])
    outbox.put(noting(notes, 1))
    await until(lambda: notes == [0, 1])
    await outbox.drain(1.0)


async def test_an_outage_is_logged_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    for _ in range(20):
        outbox.put(failing(lambda: MemoryUnavailable("Redis does not answer.")))
    outbox.put(noting(notes, 1))
    with caplog.at_level(logging.INFO):
        await outbox.drain(1.0)
    assert [record.getMessage() for record in caplog.records] == [
        "Memory is out of reach, calls go on without it: Redis does not answer.",
        "Memory answers again; 20 writes were lost meanwhile.",
    ]
    assert outbox.failed == 20
    assert notes == [1]


async def test_a_mistake_in_one_job_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    outbox.put(failing(lambda: TypeError("a bug")))
    outbox.put(noting(notes, 1))
    await outbox.drain(1.0)
    assert notes == [1]
    assert "reason of its own" in caplog.text


async def test_draining_gives_up_in_time_and_counts_what_is_lost() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    outbox.put(stuck)
    outbox.put(noting(notes, 1))
    await outbox.drain(0.05)
    outbox.put(noting(notes, 2))
    assert notes == []
    assert outbox.dropped == 3
    assert outbox.depth == 0


async def test_draining_an_unused_outbox_is_nothing() -> None:
    await Outbox(FakeMemory()).drain(1.0)


async def test_settling_waits_for_all_that_was_put_before() -> None:
    notes: list[int] = []
    outbox = Outbox(FakeMemory())
    for number in range(5):
        outbox.put(noting(notes, number))
    outbox.put(failing(lambda: MemoryUnavailable("gone")))
    await outbox.settle(1.0)
    assert notes == list(range(5)) and outbox.failed == 1
    outbox.put(noting(notes, 5))
    await outbox.settle(1.0)
    assert notes[-1] == 5


async def test_settling_gives_up_on_a_memory_that_is_stuck() -> None:
    outbox = Outbox(FakeMemory())
    outbox.put(stuck)
    with pytest.raises(MemoryUnavailable):
        await outbox.settle(0.05)
    await outbox.drain(0.05)
