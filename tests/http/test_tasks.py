"""Background tasks over REST; each user sees only their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import msgspec
import pytest
from fakeredis import FakeAsyncRedis

from backend.citations import Citation
from backend.storage.outbox import Outbox
from backend.storage.record_format import FORMAT
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.repository import TaskRepository, record_key
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from backend.testing.memory import FakeMemory
from tests.http.world import World, world
from tests.support.tasks import add_to_stream, begun


@dataclass
class Desk:
    """A server with tasks, and the stores behind it."""

    here: World
    repository: TaskRepository
    service: TaskService
    model_calls: ModelCallLog
    outbox: Outbox
    redis: FakeAsyncRedis


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    redis = FakeAsyncRedis()
    repository, outbox = TaskRepository(redis, add_to_stream), Outbox(FakeMemory())
    service, model_calls = TaskService(repository, kinds={"research"}), ModelCallLog(redis, outbox)
    async with world(folder, tasks=service, model_calls=model_calls) as here:
        yield Desk(here, repository, service, model_calls, outbox, redis)
    await outbox.drain(1.0)
    await redis.aclose()


async def begin(browser: httpx2.AsyncClient, instruction: str = "Why is the sky blue?") -> str:
    response = await browser.post("/api/tasks", json={"instruction": instruction})
    assert response.status_code == 202, response.text
    task_id: str = response.json()["id"]
    return task_id


async def test_a_task_of_a_newer_server_is_counted_in_the_list(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        readable, newer = await begin(browser), await begin(browser, "Why is grass green?")
        key = record_key(newer)
        stored = msgspec.json.decode(await at.redis.get(key) or b"")
        await at.redis.set(key, msgspec.json.encode(stored | {"format": FORMAT + 1}))
        listed = (await browser.get("/api/tasks")).json()
        assert ([each["id"] for each in listed["tasks"]], listed["unreadable"]) == ([readable], 1)


@pytest.mark.document("003", "routes")
async def test_a_task_is_queued_runs_and_ends(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        task_id = await begin(browser)
        assert (await browser.get(f"/api/tasks/{task_id}")).json()["state"] == "queued"
        running = await begun(at.repository, task_id)
        await at.repository.report_progress(running, "searching")
        shown = (await browser.get(f"/api/tasks/{task_id}/progress")).json()
        assert (shown["state"], shown["progress"][-1]["detail"]) == ("running", "searching")
        await at.repository.finish(running, TaskResult("It scatters.", "live", (Citation("A book"),)))
        [task] = (await browser.get("/api/tasks")).json()["tasks"]
        assert (task["state"], task["result"], task["citations"]) == (
            "done",
            "It scatters.",
            [{"title": "A book", "url": ""}],
        )


async def test_a_repeated_instruction_returns_the_same_task(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        assert await begin(browser) == await begin(browser, "why is the sky blue")


async def test_cancelling_a_task_returns_the_outcome(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        task_id = await begin(browser)
        assert (await browser.post(f"/api/tasks/{task_id}/cancel")).json() == {"outcome": "canceled"}
        assert (await browser.post(f"/api/tasks/{task_id}/cancel")).json() == {"outcome": "already_done"}
        assert (await browser.post("/api/tasks/nothing/cancel")).status_code == 404


@pytest.mark.parametrize("path", ["", "/progress", "/archive"])
async def test_the_task_of_another_user_answers_404(tmp_path: Path, path: str) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser, at.here.browser() as other:
        task_id = await begin(browser)
        await begin(other, "Something else")
        theirs, unknown = await other.get(f"/api/tasks/{task_id}{path}"), await other.get(f"/api/tasks/nothing{path}")
        assert (theirs.status_code, theirs.json()) == (404, unknown.json())
        assert (await other.post(f"/api/tasks/{task_id}/cancel")).status_code == 404
        assert (await browser.get(f"/api/tasks/{task_id}{path}")).status_code == 200


@pytest.mark.parametrize(
    "body", [{}, {"instruction": " "}, {"instruction": "x" * 4_001}, {"instruction": "Why?", "kind": "gardening"}]
)
async def test_an_invalid_task_is_refused(tmp_path: Path, body: dict[str, str]) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        response = await browser.post("/api/tasks", json=body)
        assert response.status_code == 422
        assert response.json()["error"]["message"]


@pytest.mark.document("003", "routes")
async def test_the_archive_of_a_task_is_redacted(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser:
        task_id = await begin(browser)
        task = await at.repository.find(task_id)
        assert task is not None
        with at.model_calls.scope(task_id, task.owner):
            entry = {"at": 1.0, "ms": 5, "model": "m1", "text": "Blue."}
            at.model_calls.add(entry | {"messages": [{"role": "user", "content": "I am ana@example.com"}]})
        await at.outbox.settle(2.0)
        [attempt] = (await browser.get(f"/api/tasks/{task_id}/archive")).json()["attempts"]
        assert attempt["messages"][0]["content"] == "I am [e-mail]"


@pytest.mark.document("003", "routes")
async def test_the_archive_of_a_digest_is_for_its_user_alone(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, at.here.browser() as browser, at.here.browser() as other:
        task = await at.repository.find(await begin(browser))
        assert task is not None
        with at.model_calls.scope("digest-1-0", task.owner):
            at.model_calls.add({"at": 1.0, "ms": 5, "model": "m1", "text": "Bees dance."})
        await at.outbox.settle(2.0)
        address = "/api/tasks/digest-1-0/archive"
        assert (await browser.get(address)).json()["attempts"][0]["text"] == "Bees dance."
        assert (await other.get(address)).status_code == 404
