"""The coordinator's service takes what users say, and shows, exports and erases what the coordinator keeps of them."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from backend.coordinator.coordinator import TASKS_SHOWN, Coordinator
from backend.coordinator.store import CoordinatorExport, LastDigest
from backend.errors import MemoryUnavailable, TooMany
from backend.notifications.notices import Notice
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.tasks.task import ShownTask

ERASE_WITHIN_S = 1.0
"""Seconds an erasure waits for a user's utterances on their way."""


class CoordinatorStatus(msgspec.Struct, frozen=True):
    """The coordinator's status as its user is shown it; the counts are of all digests so far."""

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
    """The `id`, `kind` and `text` of each that waits."""
    tasks: list[ShownTask]


@dataclass(frozen=True, slots=True)
class CoordinatorService:
    """The service is what other rooms use of the coordinator. Methods may raise `MemoryUnavailable`."""

    coordinator: Coordinator
    utterances: Outbox
    """Writes utterances, of which those beyond its limit are dropped."""
    notices: Callable[[str], Awaitable[list[Notice]]]
    """Returns a user's notices that wait."""

    def ingest(self, user_id: str, text: str, mode: str) -> None:
        """Add what a user said in a call or in chat, if the user has tasks; else it is not needed. Returns immediately.

        An utterance that cannot be written is lost to the coordinator only: it has been answered where it was said.
        """

        async def write(_: Memory) -> None:
            with contextlib.suppress(MemoryUnavailable, TooMany):
                if await self.coordinator.tasks.list(user_id, 1):
                    await self.coordinator.channels.add_input(user_id, text, mode)
                    self.coordinator.wake()

        self.utterances.enqueue(write)

    async def add_input(self, user_id: str, text: str) -> None:
        """Add an input that is answered neither in a call nor in a conversation. Raises `TooMany`."""
        await self.coordinator.channels.add_input(user_id, text, "api")
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
        """Erase all data of a user, after the utterances on their way: else they would be written again."""
        await self.utterances.settle(ERASE_WITHIN_S)
        await self.coordinator.channels.erase(user_id)
        await self.coordinator.state.erase(user_id)
