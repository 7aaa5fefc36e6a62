"""`Tasks` for their owners, over the records and the queue: to create, look, cancel, take away and erase."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from backend.errors import BadRequest
from backend.tasks.queue import Queue
from backend.tasks.repository import Records
from backend.tasks.task import INSTRUCTION_LIMIT, CancelOutcome, Superseded, Task


class Board:
    """See `Tasks`. `kinds` are the domains that can be done in the background."""

    def __init__(
        self, records: Records, queue: Queue, *, kinds: Collection[str], clock: Callable[[], float] = time.time
    ) -> None:
        self._records = records
        self._queue = queue
        self._clock = clock
        self.kinds = frozenset(kinds)

    def __repr__(self) -> str:
        return f"Board({', '.join(sorted(self.kinds))})"

    async def create(
        self,
        owner: str,
        kind: str,
        instruction: str,
        conversation_id: str = "",
        *,
        source_mode: Literal["voice", "chat"] = "voice",
        steps: Mapping[str, Any] | None = None,
    ) -> Task:
        """See `Tasks.create`. Where the same is open already it is put on its way again: who placed it may have died
        before doing so, and for one that is on its way, or running, that changes nothing.
        """
        self._check(owner, kind, instruction)
        now = self._clock()
        task = Task(
            id=secrets.token_urlsafe(12),
            owner=owner,
            conversation_id=conversation_id,
            kind=kind,
            instruction=instruction.strip(),
            created_at=now,
            changed_at=now,
            source_mode=source_mode,
            ready_at=now,
        )
        placed = await self._records.place(task, steps or {})
        if placed.ready_at <= now:
            await self._queue.put(placed.id)
        return placed

    async def get(self, owner: str, task_id: str) -> Task | None:
        """See `Tasks.get`."""
        task = await self._records.find(task_id)
        return task if task is not None and task.owner == owner else None

    async def cancel(self, owner: str, task_id: str) -> CancelOutcome:
        """See `Tasks.cancel`."""
        if await self.get(owner, task_id) is None:
            return "not_found"
        try:
            await self._records.cancel(task_id)
        except Superseded:
            return "already_done"
        await self._queue.cancel(task_id)
        return "canceled"

    async def progress(self, owner: str, task_id: str) -> list[dict[str, Any]] | None:
        """See `Tasks.progress`."""
        if await self.get(owner, task_id) is None:
            return None
        return await self._records.told(task_id)

    async def export(self, owner: str) -> list[dict[str, Any]]:
        """All of a user's tasks, with what they told."""
        found = await self._records.all_of(owner)
        return [task.shown() | {"told": await self._records.told(task.id)} for task in found]

    async def erase(self, owner: str) -> None:
        """Stop and forget all of a user's tasks."""
        found = await self._records.all_of(owner)
        for task in found:
            if task.open:
                await self.cancel(owner, task.id)
        await self._records.forget(owner, found)

    async def list(self, owner: str, limit: int = 20) -> list[Task]:
        """See `Tasks.list`."""
        return await self._records.all_of(owner, max(1, limit))

    def _check(self, owner: str, kind: str, instruction: str) -> None:
        if not owner:
            raise BadRequest("A task needs an owner: the caller is not known.")
        if kind not in self.kinds:
            known = ", ".join(sorted(self.kinds)) or "none"
            raise BadRequest(f"There is no background work of kind {kind[:64]!r}.", hint=f"The kinds are: {known}.")
        if not instruction.strip():
            raise BadRequest("The instruction is missing.", hint="Say in a sentence what is to be done.")
        if len(instruction) > INSTRUCTION_LIMIT:
            raise BadRequest(f"The instruction is over {INSTRUCTION_LIMIT:,} characters.", hint="Send only the task.")
