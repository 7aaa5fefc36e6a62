"""A user's tasks as the conversation asks for them: `tools.background_tasks`, and a few words for the briefing."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Protocol

from backend.errors import MemoryUnavailable
from backend.notifications.notices import Notice
from backend.tasks.task import Task, Tasks

SHOWN = 10
BRIEFED = 5
"""Tasks a briefing names."""
BRIEFED_CHARS = 120
BRIEF_WITHIN_S = 0.3


class Tellings(Protocol):
    """What waits to be told: see `notifications.dispatcher.NotificationDispatcher`."""

    async def waiting(self, user_id: str) -> list[Notice]: ...

    async def withdraw(self, user_id: str, notice_id: str) -> bool: ...


class Asking:
    """`UserTasks` over the tasks. Made before them, since Thinkers are: given them with `open`."""

    def __init__(self) -> None:
        self._tasks: Tasks | None = None
        self._tellings: Tellings | None = None

    def __repr__(self) -> str:
        return f"Asking({self._tasks!r})"

    def open(self, tasks: Tasks, tellings: Tellings) -> None:
        """From here on there are tasks."""
        self._tasks, self._tellings = tasks, tellings

    async def newest(self, user_id: str) -> list[dict[str, Any]]:
        """See `UserTasks`."""
        return [_shown(task) for task in await self._list(user_id, SHOWN)]

    async def result(self, user_id: str, task_id: str) -> dict[str, Any] | None:
        """See `UserTasks`. What is told here need not be told unasked any more."""
        task = await self._tasks.get(user_id, task_id) if self._tasks else None
        if task is None:
            return None
        if not task.open:
            await self._withdraw(user_id, task_id)
        ended = {"result": task.result, "source": task.source, "citations": list(task.citations), "error": task.error}
        return {**_shown(task), **({"progress": task.progress} if task.open else ended)}

    async def cancel(self, user_id: str, task_id: str) -> str:
        """See `UserTasks`."""
        return await self._tasks.cancel(user_id, task_id) if self._tasks else "not_found"

    async def briefing(self, user_id: str) -> list[dict[str, str]]:
        """The newest ones in a few words each; none when Redis is slow."""
        try:
            async with asyncio.timeout(BRIEF_WITHIN_S):
                tasks = await self._list(user_id, BRIEFED)
        except (MemoryUnavailable, TimeoutError):
            return []
        return [{"asked": task.instruction[:BRIEFED_CHARS], "state": task.state.value} for task in tasks]

    async def _list(self, user_id: str, limit: int) -> list[Task]:
        return await self._tasks.list(user_id, limit) if self._tasks else []

    async def _withdraw(self, user_id: str, task_id: str) -> None:
        if self._tellings is None:
            return
        with contextlib.suppress(MemoryUnavailable):
            for notice in await self._tellings.waiting(user_id):
                if notice.source == task_id:
                    await self._tellings.withdraw(user_id, notice.id)


def _shown(task: Task) -> dict[str, Any]:
    return {"id": task.id, "kind": task.kind, "instruction": task.instruction, "state": task.state.value}
