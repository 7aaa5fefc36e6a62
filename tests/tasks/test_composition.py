"""Background work on the Redis of this machine: an embedded one that other processes join, or none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.app.stores import open_task_store
from backend.app.tasks import make_worker, open_background
from backend.errors import SettingsError
from backend.settings.tasks import BackgroundSettings
from backend.storage import embedded
from backend.storage.embedded import OpenedMemory, join_memory, open_memory
from backend.storage.outbox import Outbox
from backend.storage.pubsub import PubSub
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskState
from backend.thinkers.dispatcher import ThinkerDispatcher
from tests.call.world import think_at_once, thinkers
from tests.support.waiting import until

HERE = BackgroundSettings(lease_s=0.6)  # type: ignore[call-arg]
ELSEWHERE = BackgroundSettings(lease_s=0.6, worker="off")  # type: ignore[call-arg]


def some_thinkers() -> ThinkerDispatcher:
    return thinkers(research=(think_at_once, {"background": True}), weather=think_at_once)


@asynccontextmanager
async def background(
    opened: OpenedMemory, settings: BackgroundSettings
) -> AsyncIterator[tuple[TaskService, TaskRepository]]:
    outbox = Outbox(opened.memory)
    model_calls = ModelCallLog(opened.redis, outbox)
    notices: Any = None
    store = open_task_store(settings, opened, notices, PubSub(opened.redis, opened.waiting))
    async with open_background(settings, store, some_thinkers(), model_calls) as service:
        yield service, store.repository
    await outbox.drain(1.0)


async def ended(repository: TaskRepository, task: Task) -> Task:
    async def over() -> bool:
        found = await repository.find(task.id)
        return found is not None and not found.open

    await until(over)
    found = await repository.find(task.id)
    assert found is not None
    return found


@pytest.mark.parametrize("settings", [HERE, ELSEWHERE], ids=["inline", "off"])
async def test_without_a_redis_server_tasks_run_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: BackgroundSettings
) -> None:
    monkeypatch.setattr(embedded, "find_binary", lambda: None)
    opened = await open_memory(None, tmp_path)
    assert opened.url is None
    async with background(opened, settings) as (service, repository):
        done = await ended(repository, await service.create("ana", "research", "the sky"))
        assert (done.state, done.result) == (TaskState.DONE, "About the sky.")
        assert await service.cancel("ana", done.id) == "already_done"
    await opened.memory.close()


async def test_a_worker_joins_the_embedded_redis_of_the_server_beside_it(tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.memory.close)
        service, repository = await stack.enter_async_context(background(opened, ELSEWHERE))
        task = await service.create("ana", "research", "the sky")
        await asyncio.sleep(0.2)
        assert (await repository.find(task.id) or task).state is TaskState.QUEUED
        joined = await join_memory(None, tmp_path)
        stack.push_async_callback(joined.memory.close)
        model_calls = ModelCallLog(joined.redis, Outbox(joined.memory))
        notices: Any = None
        store = open_task_store(ELSEWHERE, joined, notices, PubSub(joined.redis, joined.waiting))
        worker = make_worker(ELSEWHERE, store, some_thinkers(), model_calls)
        await stack.enter_async_context(worker.working())
        assert (await ended(repository, task)).state is TaskState.DONE


async def test_user_data_that_a_worker_stores_expires_as_elsewhere(tmp_path: Path) -> None:
    opened = await open_memory(None, tmp_path, user_ttl_s=1000)
    joined = await join_memory(None, tmp_path, user_ttl_s=1000)
    await joined.memory.update_user_context("ana", lambda known: {**known, "summary": "likes tea"})
    assert 0 < await opened.redis.ttl("user:ana:context") <= 1000
    await joined.memory.close()
    await opened.memory.close()


async def test_a_worker_without_a_shared_redis_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        await join_memory(None, tmp_path)
    assert "REDIS_URL" in refused.value.hint
