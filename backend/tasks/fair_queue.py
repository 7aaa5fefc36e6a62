"""The fair queue gives each owner a few places in the queue, so that nobody waits behind all tasks of another.

The queue itself is first come, first served. Of each owner only the oldest `per_owner` open tasks are in it; when one
of them is over, the owner's next goes to the end. So owners take turns, however many tasks one of them has created.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backend.tasks.queue import DocketQueue
from backend.tasks.repository import TaskRepository
from backend.tasks.task import Task, TaskState


@dataclass(frozen=True, slots=True)
class FairQueue:
    """The queue with `per_owner` places for each owner; 0: any number. Methods may raise `MemoryUnavailable`."""

    repository: TaskRepository
    queue: DocketQueue
    per_owner: int
    clock: Callable[[], float] = time.time

    async def enqueue(self, task: Task) -> None:
        """Enqueue the task if it is its turn; else it is enqueued when another of its owner's is over."""
        if not self.per_owner or task in in_turn(
            await self.repository.all_of(task.owner), self.per_owner, self.clock()
        ):
            await self.queue.enqueue(task.id)

    async def enqueue_of(self, owner: str) -> None:
        """Enqueue those of the owner's tasks whose turn it is. For one that is enqueued or running, nothing changes."""
        for task in in_turn(await self.repository.all_of(owner), self.per_owner, self.clock()):
            await self.queue.enqueue(task.id)


def in_turn(tasks: Sequence[Task], places: int, now: float) -> list[Task]:
    """Return the tasks of one owner that are to be in the queue at `now`: of the oldest `places`, those that wait."""
    oldest = sorted((task for task in tasks if task.open), key=lambda task: (task.created_at, task.id))
    chosen = oldest[:places] if places else oldest
    return [task for task in chosen if task.state is TaskState.QUEUED and task.setbacks.ready_at <= now]
