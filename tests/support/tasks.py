"""Stand-ins around background tasks: a queue that remembers what was asked of it, and a plain stream of results."""

from __future__ import annotations

from typing import Any

from backend.tasks.queue import DocketQueue
from backend.tasks.task import Task

RESULTS = "tasks:results"


class FakeQueue(DocketQueue):
    """A queue without Redis; its tasks are never run."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.canceled: list[str] = []

    async def enqueue(self, task_id: str) -> None:
        if task_id not in self.waiting:
            self.waiting.append(task_id)

    async def cancel(self, task_id: str) -> None:
        self.canceled.append(task_id)
        if task_id in self.waiting:
            self.waiting.remove(task_id)


def add_to_stream(transaction: Any, task: Task) -> None:
    """Add a result to the one Redis stream of `{task_id, owner, state}`."""
    transaction.xadd(RESULTS, {"task_id": task.id, "owner": task.owner, "state": task.state.value})
