"""Helpers for background tasks: a plain stream of results, and a run begun without a worker."""

from typing import Any

from redis.asyncio import Redis

from backend.tasks.repository import QUEUE, TURNS, TaskRepository
from backend.tasks.task import Task

RESULTS = "tasks:results"


def add_to_stream(transaction: Any, task: Task) -> None:
    """Add a result to the one Redis stream of `{task_id, owner, state}`."""
    transaction.xadd(RESULTS, {"task_id": task.id, "owner": task.owner, "state": task.state.value})


async def begun(repository: TaskRepository, task_id: str) -> Task:
    """Begin a run of that task, like a worker after the death of an earlier one."""
    found = await repository.find(task_id)
    assert found is not None

    async def make_next(redis: Redis) -> None:
        await redis.zadd(QUEUE, {task_id: -1.0}, xx=True)
        await redis.zadd(TURNS, {found.owner: -1.0})

    await repository._client.call(make_next)
    taken = await repository.take()
    assert taken is not None and taken.id == task_id
    return taken
