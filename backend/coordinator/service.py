"""Puts the coordinator together: the one call `main` makes for it, and what routes ask of it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from backend.coordinator.channels import Channels, Leases
from backend.coordinator.coordinator import Coordinator, Decides, Show
from backend.coordinator.decisions import Decision, Mind
from backend.coordinator.digest import Happened, Pace, Thought, plain
from backend.coordinator.state import Notebook
from backend.coordinator.utterances import Overhearing
from backend.models.base import ChatModel
from backend.notifications.notices import Notice, Notifier
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.tasks import CoordinatorSettings
from backend.storage.pubsub import PubSub
from backend.tasks import keys
from backend.tasks.model_call_log import Archive
from backend.tasks.task import Task, Tasks

TASKS_SHOWN = 20


class PlainMind:
    """Thinks about nothing: results are told as they are."""

    async def decide(
        self,
        user_id: str,
        digest_id: str,
        happened: Sequence[Happened],
        history: Sequence[Thought],
        tasks: Sequence[Task],
    ) -> Decision:
        """See `Decides`."""
        return Decision(plain(happened))


@dataclass(frozen=True, slots=True)
class Coordinating:
    """A process's coordinator, and what may be asked of it."""

    coordinator: Coordinator
    channels: Channels
    notebook: Notebook
    overhear: Overhearing
    tasks: Tasks
    waiting: Callable[[str], Awaitable[list[Notice]]]
    enabled: bool
    pace: Pace

    async def say(self, user_id: str, text: str) -> None:
        """An input that no call and no conversation answers. Raises `MemoryUnavailable`."""
        await self.channels.say(user_id, text, "api")

    async def status(self, user_id: str) -> dict[str, Any]:
        """What `GET /api/status` shows a user. Raises `MemoryUnavailable`."""
        entries = await self.channels.waiting(user_id)
        planned = await self.notebook.plan(user_id)
        state = await self.notebook.state(user_id)
        tasks = await self.tasks.list(user_id, TASKS_SHOWN)
        return {
            "coordinator": {
                "enabled": self.enabled,
                "state": "acting" if planned else "gathering" if entries else "idle",
                "inputs_waiting": sum(entry.kind == "input" for entry in entries),
                "results_waiting": sum(entry.kind == "result" for entry in entries),
                "digests": state["count"],
                "failed": state["failed"],
                "invalid_actions": state["invalid"],
                "last_digest": {name: state[name] for name in ("id", "last_at", "decision", "failure")},
            },
            "notices": [{"id": each.id, "kind": each.kind, "text": each.text} for each in await self.waiting(user_id)],
            "tasks": [task.shown() for task in tasks],
        }

    async def export(self, user_id: str) -> dict[str, Any]:
        """For the user to take away; empty when nothing is kept."""
        kept = {"waiting": await self.channels.export(user_id), **await self.notebook.export(user_id)}
        if not kept["digests"]["count"]:
            del kept["digests"]
        return kept if any(kept.values()) else {}

    async def erase(self, user_id: str) -> None:
        """Leaves nothing of that user."""
        await self.channels.erase(user_id)
        await self.notebook.erase(user_id)


def pace_of(settings: CoordinatorSettings) -> Pace:
    """The settings' times and bounds."""
    return Pace(
        settings.apart_s,
        settings.gather_s,
        settings.listener_after_s,
        settings.results_after_s,
        settings.history_entries,
        settings.history_bytes,
        settings.tasks,
    )


@asynccontextmanager
async def open_coordinating(
    settings: CoordinatorSettings,
    redis: Redis,
    pubsub: PubSub,
    *,
    tasks: Tasks,
    model: ChatModel,
    model_name: str,
    archive: Archive,
    kinds: Collection[str],
    notifier: Notifier,
    waiting: Callable[[str], Awaitable[list[Notice]]],
    listening: Callable[[str], Awaitable[bool]],
    show: Show,
    tracer: Tracer = NO_TRACER,
) -> AsyncIterator[Coordinating]:
    """A coordinator at work, until the block is left; enter it before pub/sub starts.

    The caller keeps ownership of everything passed in.
    """
    name, pace = secrets.token_hex(6), pace_of(settings)
    channels, notebook = Channels(redis, name, claim_after_s=0.0), Notebook(redis)
    mind: Decides = PlainMind()
    if settings.enabled:
        mind = Mind(model, model_name, archive.scope, kinds, pace, settings.think_within_s, tracer)
    coordinator = Coordinator(
        channels,
        Leases(redis, name, settings.lease_s),
        notebook,
        tasks,
        mind,
        notifier,
        listening=listening,
        show=show,
        pace=pace,
    )
    channels.on_said = coordinator.wake
    pubsub.subscribe(keys.EVENTS, coordinator.wake)
    overhearing = Overhearing(channels, tasks)
    running = asyncio.create_task(coordinator.run(), name="coordinator")
    try:
        yield Coordinating(coordinator, channels, notebook, overhearing, tasks, waiting, settings.enabled, pace)
    finally:
        await overhearing.close()
        running.cancel()
        await asyncio.wait([running])
