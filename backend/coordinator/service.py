"""The coordinator's service for the other rooms: what users say comes in, and its state can be shown and erased."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from backend.coordinator.coordinator import TASKS_SHOWN, Coordinator
from backend.coordinator.store import Channels, CoordinatorState
from backend.errors import MemoryUnavailable
from backend.notifications.notices import Notice
from backend.tasks.service import TaskService

log = logging.getLogger(__name__)

INGESTING_LIMIT = 100
"""Utterances being written at the same time; further ones are dropped."""
CLOSE_WITHIN_S = 1.0


class UtteranceIngest:
    """Adds what users say in calls and in chat to their channels: of those who have tasks, since nobody else needs it.

    Call it with user, words and mode ("voice" or "chat"); it returns at once. An utterance that cannot be written (too
    many at once, Redis away) is lost to the coordinator only: it has been answered where it was said.
    """

    def __init__(self, channels: Channels, tasks: TaskService, on_added: Callable[[], None]) -> None:
        self._channels = channels
        self._tasks = tasks
        self._on_added = on_added
        self._writing: set[asyncio.Task[None]] = set()
        self.lost = 0
        """Utterances that could not be written."""

    def __repr__(self) -> str:
        return f"UtteranceIngest({len(self._writing)} being written, {self.lost} lost)"

    def __call__(self, user_id: str, text: str, mode: str) -> None:
        if len(self._writing) >= INGESTING_LIMIT:
            self.lost += 1
            return
        task = asyncio.create_task(self._write(user_id, text, mode), name="utterance")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def close(self) -> None:
        """Wait until the utterances are written, `CLOSE_WITHIN_S` at most."""
        if self._writing:
            _, late = await asyncio.wait(self._writing, timeout=CLOSE_WITHIN_S)
            for task in late:
                task.cancel()

    async def _write(self, user_id: str, text: str, mode: str) -> None:
        try:
            if await self._tasks.list(user_id, 1):
                await self._channels.add_input(user_id, text, mode)
                self._on_added()
        except MemoryUnavailable:
            self.lost += 1
            log.debug("an utterance was not kept for the coordinator: Redis does not answer")


@dataclass(frozen=True, slots=True)
class CoordinatorService:
    """A process's coordinator and its data. Methods may raise `MemoryUnavailable`."""

    coordinator: Coordinator
    channels: Channels
    state: CoordinatorState
    ingest: UtteranceIngest
    tasks: TaskService
    notices: Callable[[str], Awaitable[list[Notice]]]
    """Returns a user's notices that wait."""
    enabled: bool

    async def add_input(self, user_id: str, text: str) -> None:
        """Add an input that no call and no conversation answers."""
        await self.channels.add_input(user_id, text, "api")
        self.coordinator.wake()

    async def status(self, user_id: str) -> dict[str, Any]:
        """Return what `GET /api/status` shows a user, as JSON data."""
        entries = await self.channels.waiting(user_id)
        plan = await self.state.plan(user_id)
        status = await self.state.status(user_id)
        tasks = await self.tasks.list(user_id, TASKS_SHOWN)
        last = {"id": status.id, "last_at": status.last_at, "decision": status.decision, "failure": status.failure}
        return {
            "coordinator": {
                "enabled": self.enabled,
                "state": "acting" if plan else "gathering" if entries else "idle",
                "inputs_waiting": sum(entry.kind == "input" for entry in entries),
                "results_waiting": sum(entry.kind == "result" for entry in entries),
                "digests": status.count,
                "failed": status.failed,
                "invalid_actions": status.invalid,
                "last_digest": last,
            },
            "notices": [{"id": each.id, "kind": each.kind, "text": each.text} for each in await self.notices(user_id)],
            "tasks": [task.to_json() for task in tasks],
        }

    async def export(self, user_id: str) -> dict[str, Any]:
        """Return all data of a user; empty when there is none."""
        kept = {"waiting": await self.channels.export(user_id), **await self.state.export(user_id)}
        if not kept["digests"]["count"]:
            del kept["digests"]
        return kept if any(kept.values()) else {}

    async def erase(self, user_id: str) -> None:
        """Erase all data of a user."""
        await self.channels.erase(user_id)
        await self.state.erase(user_id)
