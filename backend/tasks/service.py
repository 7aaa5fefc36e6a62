"""The task service creates, shows, cancels, exports and erases background tasks, each for its owner only.

Conversations use `TaskQueries`: the tool `background_tasks`, and a few words for the Responder's prompt.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from msgspec.structs import replace

from backend.access.budgets import Refund
from backend.access.principal import PUBLIC, CallerScope
from backend.citations import as_json
from backend.errors import BadRequest, MemoryUnavailable
from backend.notifications.dispatcher import NotificationDispatcher
from backend.runtime.json_objects import Json
from backend.storage.keys import readable
from backend.storage.memory import briefly
from backend.tasks.repository import TaskRepository
from backend.tasks.task import INSTRUCTION_LIMIT, CancelOutcome, ProgressEntry, Setbacks, Superseded, Task

SHOWN = 10
"""The most tasks that the tool shows."""
IN_PROMPT = 5
"""The most tasks that a prompt names."""
IN_PROMPT_CHARS = 120
PROMPT_WITHIN_S = 0.3
"""Seconds the tasks for a prompt may take to read."""


@dataclass(eq=False)
class TaskService:
    """Lets each user create, see and cancel their own tasks. Methods may raise `MemoryUnavailable`."""

    repository: TaskRepository
    kinds: Collection[str]
    """The domains that can be done in the background."""
    clock: Callable[[], float] = time.time
    admit: Callable[[str], Awaitable[Refund]] | None = None
    """Charges a new task to the owner of that id, and returns what takes the charge back. May raise `TooMany`."""

    async def create(
        self,
        owner: str,
        kind: str,
        instruction: str,
        conversation_id: str = "",
        *,
        source_mode: Literal["voice", "chat"] = "voice",
        steps: Mapping[str, object] | None = None,
        once: str = "",
        scope: CallerScope = PUBLIC,
    ) -> Task:
        """Queue a task and return it, or the open task with the same owner, kind and normalised instruction.

        `steps` are checkpoints of work already done, `scope` the tools its run may use. A request that is named
        with `once` may be repeated: it creates one task, which is returned even when it is over. Raises `BadRequest`
        for an unknown kind, an empty or too long instruction, and `TooMany` when the owner has 20 open ones or a
        used-up budget.
        """
        if not owner:
            raise BadRequest("A task needs a known caller.")
        if kind not in self.kinds:
            known = ", ".join(sorted(self.kinds)) or "none"
            raise BadRequest(f"There is no background work of kind {kind[:64]!r}.", hint=f"The kinds are: {known}.")
        if not instruction.strip():
            raise BadRequest("The instruction is missing.", hint="Say in a sentence what is to be done.")
        if len(instruction) > INSTRUCTION_LIMIT:
            raise BadRequest(f"The instruction is over {INSTRUCTION_LIMIT:,} characters.", hint="Send only the task.")
        now = self.clock()
        name = hashlib.sha256(f"{owner}\n{once}".encode()).digest()[:12] if once else secrets.token_bytes(12)
        id_ = base64.urlsafe_b64encode(name).decode()
        waiting = Setbacks(ready_at=now)
        task = Task(
            id_, owner, conversation_id, kind, instruction.strip(), now, now, source_mode, setbacks=waiting, scope=scope
        )
        return await self._charged(task, steps or {})

    async def _charged(self, task: Task, steps: Mapping[str, object]) -> Task:
        """Write the task at its owner's expense, or return the one that there was, which was paid for before."""
        refund = await self.admit(task.owner) if self.admit else lambda: None
        written: Task | None = None
        try:
            written = await self.repository.create(task, steps)
        finally:
            if written is not task:
                refund()
        return written

    async def get(self, owner: str, task_id: str) -> Task | None:
        """Return the owner's task; None for another user's or an expired one."""
        task = await self.repository.find(task_id)
        return task if task is not None and task.owner == owner else None

    async def cancel(self, owner: str, task_id: str) -> CancelOutcome:
        """Stop the task, queued or running, within a second."""
        if await self.get(owner, task_id) is None:
            return "not_found"
        try:
            await self.repository.cancel(task_id)
        except Superseded:
            return "already_done"
        return "canceled"

    async def progress(self, owner: str, task_id: str) -> list[ProgressEntry] | None:
        """Return the progress of a task, oldest first, at most 100 entries; None like `get`."""
        return await self.repository.progress(task_id) if await self.get(owner, task_id) else None

    async def export(self, owner: str) -> list[Any]:
        """Return all of a user's tasks with their progress; undecodable records in their stored form."""
        found = await self.repository.all_of(owner)
        shown = [replace(task.shown(), told=await self.repository.progress(task.id)) for task in found]
        return [*shown, *({"unreadable": readable(raw)} for raw in await self.repository.unreadable_of(owner))]

    async def erase(self, owner: str) -> None:
        """Cancel and erase all of a user's tasks."""
        for task in await self.repository.all_of(owner):
            if task.open:
                await self.cancel(owner, task.id)
        await self.repository.forget(owner)

    async def list(self, owner: str, limit: int = 20) -> list[Task]:
        """Return the owner's newest tasks, newest first."""
        return await self.repository.all_of(owner, max(1, limit))


@dataclass(frozen=True, slots=True)
class TaskQueries:
    """Implements `backend.tools.background_tasks.UserTasks`."""

    tasks: TaskService
    notices: NotificationDispatcher

    async def newest(self, user_id: str) -> list[dict[str, str]]:
        return [task.summary() for task in await self.tasks.list(user_id, SHOWN)]

    async def result(self, user_id: str, task_id: str) -> Json | None:
        """Return a task with its progress while it is open, then with its result, and withdraw notices of that."""
        task = await self.tasks.get(user_id, task_id)
        if task is None:
            return None
        if task.open:
            return {**task.summary(), "progress": task.progress}
        with contextlib.suppress(MemoryUnavailable):
            for notice in await self.notices.waiting(user_id):
                if notice.source == task_id:
                    await self.notices.withdraw(user_id, notice.id)
        ended = {"result": task.result, "source": task.source, "error": task.error}
        return {**task.summary(), **ended, "citations": as_json(task.citations)}

    async def cancel(self, user_id: str, task_id: str) -> str:
        return await self.tasks.cancel(user_id, task_id)

    async def for_prompt(self, user_id: str) -> list[dict[str, str]]:
        """Return the newest tasks in a few words each; none when Redis is slow."""
        tasks: list[Task] = await briefly(self.tasks.list(user_id, IN_PROMPT), [], within_s=PROMPT_WITHIN_S)
        return [{"asked": task.instruction[:IN_PROMPT_CHARS], "state": task.state.value} for task in tasks]
