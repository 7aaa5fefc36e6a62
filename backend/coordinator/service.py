"""The coordinator's service takes users' words, and shows, exports and erases what the coordinator keeps."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from backend.access.principal import PUBLIC, CallerScope
from backend.coordinator.coordinator import TASKS_SHOWN, Coordinator
from backend.coordinator.store import CoordinatorExport, LastDigest
from backend.errors import MemoryUnavailable, TooMany
from backend.notifications.notices import Notice
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.tasks.task import ShownTask

ERASE_WITHIN_S = 1.0
"""Seconds an erasure waits for a user's pending utterances."""


class CoordinatorStatus(msgspec.Struct, frozen=True):
    """The coordinator's status for its user; the counts cover all digests so far."""

    enabled: bool
    state: Literal["acting", "gathering", "idle"]
    inputs_waiting: int
    results_waiting: int
    digests: int
    failed: int
    invalid_actions: int
    last_digest: LastDigest


class UserStatus(msgspec.Struct, frozen=True):
    """The answer of `GET /api/status`."""

    coordinator: CoordinatorStatus
    notices: list[dict[str, str]]
    """The `id`, `kind` and `text` of each waiting notice."""
    tasks: list[ShownTask]


@dataclass(frozen=True, slots=True)
class CoordinatorService:
    """The interface of the coordinator to other rooms. Methods may raise `MemoryUnavailable`."""

    coordinator: Coordinator
    utterances: Outbox
    """Writes utterances. Those beyond its limit are dropped."""
    notices: Callable[[str], Awaitable[list[Notice]]]
    """Returns a user's waiting notices."""

    def ingest(self, user_id: str, text: str, mode: str, scope: CallerScope = PUBLIC) -> None:
        """Add what a user of that scope said in a call or chat, if the user has tasks. Returns immediately.

        An utterance that cannot be written is lost to the coordinator only: the call or chat has answered it.
        """

        async def write(_: Memory) -> None:
            with contextlib.suppress(MemoryUnavailable, TooMany):
                if await self.coordinator.tasks.list(user_id, 1):
                    await self.coordinator.channels.add_input(user_id, text, mode, scope)
                    self.coordinator.wake()

        self.utterances.enqueue(write)

    async def add_input(self, user_id: str, text: str, scope: CallerScope = PUBLIC) -> None:
        """Add an input, by a user of that scope, that no call or conversation answers. Raises `TooMany`."""
        await self.coordinator.channels.add_input(user_id, text, "api", scope)
        self.coordinator.wake()

    async def status(self, user_id: str) -> UserStatus:
        """Return what `GET /api/status` shows a user."""
        entries = await self.coordinator.channels.waiting(user_id)
        plan = await self.coordinator.state.plan(user_id)
        status = await self.coordinator.state.status(user_id)
        tasks = await self.coordinator.tasks.list(user_id, TASKS_SHOWN)
        shown = CoordinatorStatus(
            enabled=self.coordinator.settings.enabled,
            state="acting" if plan else "gathering" if entries else "idle",
            inputs_waiting=sum(entry.kind == "input" for entry in entries),
            results_waiting=sum(entry.kind == "result" for entry in entries),
            digests=status.count,
            failed=status.failed,
            invalid_actions=status.invalid,
            last_digest=msgspec.convert(status, LastDigest, from_attributes=True),
        )
        notices = [{"id": each.id, "kind": each.kind, "text": each.text} for each in await self.notices(user_id)]
        return UserStatus(shown, notices, [task.shown() for task in tasks])

    async def export(self, user_id: str) -> CoordinatorExport:
        """Return all data of a user; empty when there is none."""
        state = await self.coordinator.state.export(user_id)
        waiting = await self.coordinator.channels.waiting(user_id, limit=1_000)
        if not state["digests"].count:
            del state["digests"]
        return {"waiting": waiting, **state} if waiting or any(state.values()) else {}

    async def erase(self, user_id: str) -> None:
        """Erase all data of a user, after pending utterances, which would be written again otherwise."""
        await self.utterances.settle(ERASE_WITHIN_S)
        await self.coordinator.channels.erase(user_id)
        await self.coordinator.state.erase(user_id)
