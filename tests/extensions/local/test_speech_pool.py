"""The pool of speech processes, with real processes and an engine of the tests."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backend.extensions.local.speech_pool import PoolLimits, SpeechPool, SpeechPoolFailed

pytestmark = pytest.mark.process
ENGINE = "tests.extensions.local.pool_engine"


@asynccontextmanager
async def pool_of(**limits: float) -> AsyncIterator[SpeechPool]:
    pool = SpeechPool("test engine", ENGINE, PoolLimits(**limits))  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(20):
            await pool.wait_until_ready()
        yield pool
    finally:
        await pool.close()


async def answer(pool: SpeechPool, job: str) -> str:
    return b" ".join([piece async for piece in pool.run(job.encode())]).decode()


async def test_a_job_is_answered_piece_by_piece() -> None:
    async with pool_of() as pool:
        assert await answer(pool, "echo hello") == "hello"
        assert await answer(pool, "count 3") == "0 1 2"


async def test_an_engines_error_fails_its_job_and_no_other() -> None:
    async with pool_of() as pool:
        with pytest.raises(SpeechPoolFailed, match="no such command"):
            await answer(pool, "dance")
        assert await answer(pool, "echo still here") == "still here"


async def test_a_process_that_dies_fails_its_job_and_comes_back() -> None:
    async with pool_of() as pool:
        before = pool.pids
        with pytest.raises(SpeechPoolFailed, match="ended"):
            await answer(pool, "die")
        assert await answer(pool, "echo again") == "again"
        assert pool.pids != before


async def test_a_process_that_died_while_idle_costs_no_job() -> None:
    async with pool_of() as pool:
        os.kill(pool.pids[0], 9)
        await asyncio.sleep(0.2)
        assert await answer(pool, "echo again") == "again"


async def test_a_process_that_hangs_is_ended_and_comes_back() -> None:
    async with pool_of(within_s=0.5) as pool:
        with pytest.raises(SpeechPoolFailed, match="in time"):
            await answer(pool, "sleep 60")
        async with asyncio.timeout(20):
            await pool.wait_until_ready()
        assert await answer(pool, "echo again") == "again"


async def test_an_abandoned_job_is_not_computed_to_its_end() -> None:
    async with pool_of() as pool:
        long = pool.run(b"count 1000")
        assert await anext(long) == b"0"
        await long.aclose()
        async with asyncio.timeout(10):
            assert await answer(pool, "echo next") == "next"


async def test_a_spare_job_gives_way_to_any_other() -> None:
    async with pool_of() as pool:
        spare = pool.run(b"count 1000", spare=True)
        assert await anext(spare) == b"0"
        async with asyncio.timeout(10):
            assert await answer(pool, "echo next") == "next"
            assert len([piece async for piece in spare]) < 50
            long = asyncio.create_task(answer(pool, "count 20"))
            await asyncio.sleep(0.05)
            assert await answer(pool, "echo after") == "after"
            assert (await long).endswith(" 19"), "work that is not spare is finished"


async def test_a_cancelled_job_is_stopped_in_the_middle_of_a_piece() -> None:
    async with pool_of() as pool:
        slow = asyncio.create_task(answer(pool, "stoppable"))
        await asyncio.sleep(1)
        slow.cancel()
        async with asyncio.timeout(10):
            assert await answer(pool, "echo next") == "next"


async def test_an_abandoned_waiting_job_is_dropped() -> None:
    async with pool_of() as pool:
        first = asyncio.create_task(answer(pool, "count 50"))
        await asyncio.sleep(0.02)
        second = asyncio.create_task(answer(pool, "count 1000"))
        await asyncio.sleep(0.02)
        assert pool.depth == 1
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        assert pool.depth == 0
        assert (await first).startswith("0 1 2")


async def test_jobs_over_the_limit_are_refused() -> None:
    async with pool_of(most_waiting=1) as pool:
        jobs = [asyncio.create_task(answer(pool, "count 50")) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = asyncio.create_task(answer(pool, "count 50"))
        await asyncio.sleep(0.05)
        outcomes = await asyncio.gather(*jobs, third, return_exceptions=True)
        assert any(isinstance(each, SpeechPoolFailed) and "too much" in str(each) for each in outcomes)
        assert sum(isinstance(each, str) for each in outcomes) == 2


async def test_processes_compute_with_few_threads_and_a_low_priority() -> None:
    async with pool_of(threads=2) as pool:
        threads, niceness = (await answer(pool, "threads")).split()
        assert threads == "2"
        assert int(niceness) >= 10


async def test_closing_the_pool_fails_waiting_jobs() -> None:
    async with pool_of() as pool:
        jobs = [asyncio.create_task(answer(pool, "count 100")) for _ in range(2)]
        await asyncio.sleep(0.1)
        await pool.close()
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        assert all(isinstance(each, SpeechPoolFailed) for each in outcomes)
