"""What the queue is asked for: to have a task's id brought to some worker, at least once."""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """Ids of tasks on their way to workers. Every method may raise `MemoryUnavailable`."""

    async def put(self, task_id: str, delay_s: float = 0.0) -> None:
        """Bring it to a worker, not before `delay_s` seconds. Does nothing when it is on its way or running."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Take it off the way; where it runs, stop it. A worker that does not hear it finds out from the record."""
        ...


class FakeQueue:
    """For tests, and for who only keeps records: remembers what was asked of it."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.canceled: list[str] = []

    def __repr__(self) -> str:
        return f"FakeQueue({len(self.waiting)} waiting)"

    async def put(self, task_id: str, delay_s: float = 0.0) -> None:
        """See `Queue.put`."""
        if task_id not in self.waiting:
            self.waiting.append(task_id)

    async def cancel(self, task_id: str) -> None:
        """See `Queue.cancel`."""
        self.canceled.append(task_id)
        if task_id in self.waiting:
            self.waiting.remove(task_id)
