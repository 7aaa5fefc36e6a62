"""Nothing that stands in Redis is unpickled: what somebody plants there is not run, wherever the queue reads."""

from __future__ import annotations

import base64
import importlib
import os
import pickle
import pkgutil
import re
from pathlib import Path
from typing import Any

import docket
import msgspec
import pytest
from docket import Execution, Worker

from backend.runtime.faults import skipped_records
from backend.settings.tasks import BackgroundSettings
from backend.storage.client import connect
from backend.tasks.queue import FUNCTION, open_queue
from backend.tasks.queue_codec import read, replace_pickle, write
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult, TaskState
from backend.tasks.worker import TaskRun
from backend.tasks.worker import Worker as TaskWorker
from tests.support.redis_server import running_redis
from tests.support.tasks import add_to_stream
from tests.support.waiting import until

PLACES_THAT_READ = {"execution": 4, "strikelist": 1, "docket": 2}
"""How often each module of the library calls `cloudpickle.loads`."""


class Planted:
    """A pickle that makes a folder when it is read."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


def planted(trace: Path) -> bytes:
    return pickle.dumps(Planted(trace))


async def test_a_worker_runs_no_pickle_from_the_queue_and_goes_on(tmp_path: Path) -> None:
    async def work(run: TaskRun) -> TaskResult:
        return TaskResult("Because.", "live")

    trace, settings = tmp_path / "run", BackgroundSettings.model_validate({"lease_s": 0.6})
    with running_redis() as server:
        redis = connect(server.url)
        repository = TaskRepository(redis, add_to_stream)
        async with open_queue(server.url) as queue:
            service = TaskService(repository, queue, kinds={"research"})
            empty = pickle.dumps({})
            message: dict[Any, Any] = {"function": FUNCTION, "key": "k", "args": planted(trace), "kwargs": empty}
            late = {b"function": b"think", b"args": planted(trace), b"kwargs": empty, b"when": b"0", b"key": b"l"}
            await redis.xadd(queue.docket.stream_key, message | {"when": "2026-01-01T00:00:00+00:00", "attempt": "1"})
            await redis.hset(queue.docket.parked_task_key("l"), mapping=late)  # type: ignore[arg-type]
            await redis.zadd(queue.docket.queue_key, {"l": 1.0})
            await redis.xadd(f"{queue.docket.prefix}:strikes", {"direction": "strike", "value": planted(trace)})
            good = await service.create("ana", "research", "Why?")
            async with TaskWorker(queue, repository, work, settings).working():

                async def is_done() -> bool:
                    found = await repository.find(good.id)
                    return found is not None and found.state is TaskState.DONE

                await until(is_done, 10.0)
        await redis.aclose()
    assert not trace.exists()
    assert skipped_records["queue message"] >= 1


async def test_a_result_in_redis_is_not_unpickled_either(tmp_path: Path) -> None:
    trace = tmp_path / "run"
    with running_redis() as server:
        async with open_queue(server.url) as queue, Worker(queue.docket, schedule_automatic_tasks=False):
            await queue.enqueue("t1")
            [(_, message)] = await _messages(server.url, queue.docket.stream_key)
            execution = await Execution.from_message(queue.docket, message)
            assert list(execution.args) == ["t1"] and not execution.kwargs
            execution.result_key = "r"
            await queue.docket.result_storage.put("r", {"data": base64.b64encode(planted(trace)).decode()})
            await execution.mark_as_completed(result_key="r")
            with pytest.raises(msgspec.DecodeError):
                await execution.get_result()
            with pytest.raises(NotImplementedError):
                await queue.docket.get_execution("t1")
    assert not trace.exists()


def test_no_module_of_the_library_has_a_pickle_left() -> None:
    replace_pickle()
    found: dict[str, int] = {}
    for module in pkgutil.iter_modules(docket.__path__):
        if (source := Path(docket.__path__[0], f"{module.name}.py")).is_file():
            text = source.read_text()
            if count := len(re.findall(r"(?:pickle|marshal|shelve|dill)\.loads?\(", text)):
                found[module.name] = count
            if re.search(r"^import cloudpickle", text, re.MULTILINE):
                assert importlib.import_module(f"docket.{module.name}").cloudpickle.loads is read
    assert found == PLACES_THAT_READ, "read the new source against backend/tasks/queue_codec.py"


def test_the_server_itself_imports_no_pickle() -> None:
    root = Path(__file__).resolve().parent.parent.parent
    for room in ("backend", "responder_thinker"):
        for path in (root / room).rglob("*.py"):
            assert not re.search(
                r"^\s*(?:import|from) (?:cloud)?pickle|^\s*import (?:marshal|shelve)", path.read_text(), re.M
            ), path


def test_what_is_written_is_read_again_and_an_error_becomes_the_name_of_its_type() -> None:
    assert read(write(("t1",))) == ["t1"]
    assert read(write(ValueError("said by a user"))) == "ValueError"


async def _messages(url: str, stream: str) -> Any:
    redis = connect(url)
    try:
        return await redis.xrange(stream)
    finally:
        await redis.aclose()
