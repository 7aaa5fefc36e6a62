"""Background work on what Redis this machine offers: an embedded one that others join, or none but in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from backend.app.tasks import BackgroundTasks, make_worker, open_background, open_repository
from backend.errors import SettingsError
from backend.settings.tasks import BackgroundSettings
from backend.storage import embedded
from backend.storage.embedded import OpenedMemory, join_memory, open_memory
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.task import Task, TaskState
from backend.thinkers.dispatcher import ThinkerDispatcher
from tests.call.world import think_at_once, thinkers
from tests.support.waiting import until

HERE = BackgroundSettings(lease_s=0.6)  # type: ignore[call-arg]
ELSEWHERE = BackgroundSettings(lease_s=0.6, worker="off")  # type: ignore[call-arg]


def some_thinkers() -> ThinkerDispatcher:
    return thinkers(research=(think_at_once, {"background": True}), weather=think_at_once)


@asynccontextmanager
async def background(opened: OpenedMemory, settings: BackgroundSettings) -> AsyncIterator[BackgroundTasks]:
    outbox = Outbox(opened.memory)
    model_calls = ModelCallLog(opened.redis, outbox)
    async with open_background(settings, opened, some_thinkers(), model_calls, CollectorRegistry()) as work:
        yield work
    await outbox.drain(1.0)


async def ended(work: BackgroundTasks, task: Task) -> Task:
    async def over() -> bool:
        found = await work.repository.find(task.id)
        return found is not None and not found.open

    await until(over)
    found = await work.repository.find(task.id)
    assert found is not None
    return found


@pytest.mark.parametrize("settings", [HERE, ELSEWHERE], ids=["inline", "off"])
async def test_without_a_redis_server_tasks_are_done_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: BackgroundSettings
) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    opened = await open_memory(None, tmp_path)
    assert opened.url is None
    async with background(opened, settings) as work:
        assert "in this process only" in work.banner
        done = await ended(work, await work.service.create("ana", "research", "the sky"))
        assert (done.state, done.result) == (TaskState.DONE, "About the sky.")
        assert await work.service.cancel("ana", done.id) == "already_done"
    await opened.memory.close()


async def test_a_worker_joins_the_embedded_redis_of_the_server_beside_it(tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.memory.close)
        work = await stack.enter_async_context(background(opened, ELSEWHERE))
        task = await work.service.create("ana", "research", "the sky")
        await asyncio.sleep(0.2)
        assert (await work.repository.find(task.id) or task).state is TaskState.QUEUED
        joined = await join_memory(None, tmp_path)
        stack.push_async_callback(joined.memory.close)
        model_calls = ModelCallLog(joined.redis, Outbox(joined.memory))
        worker = make_worker(ELSEWHERE, open_repository(ELSEWHERE, joined.redis), some_thinkers(), model_calls)
        await stack.enter_async_context(worker.working(joined.url))
        assert (await ended(work, task)).state is TaskState.DONE


async def test_what_a_worker_learns_of_a_user_expires_as_it_does_elsewhere(tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path, user_ttl_s=1000)
    joined = await join_memory(None, tmp_path, user_ttl_s=1000)
    await joined.memory.update_user_context("ana", lambda known: {**known, "summary": "likes tea"})
    assert 0 < await opened.redis.ttl("user:ana:context") <= 1000
    await joined.memory.close()
    await opened.memory.close()


async def test_a_worker_without_a_redis_to_share_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        await join_memory(None, tmp_path)
    assert "REDIS_URL" in refused.value.hint


async def test_only_what_may_go_on_is_a_kind_of_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    opened = await open_memory(None, tmp_path)
    async with background(opened, HERE) as work:
        assert work.service.kinds == {"research"}
    await opened.memory.close()
