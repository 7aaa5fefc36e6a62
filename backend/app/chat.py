"""Opens the chat of a process: typed turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.app.stores import Stores
from backend.app.tasks import TaskSubsystem
from backend.app.thinkers import ThinkerSubsystem
from backend.chat.chat import Chat
from backend.chat.profile_updater import ChatProfileUpdater
from backend.chat.turn_runner import ChatDependencies
from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings


@asynccontextmanager
async def open_chat(
    settings: Settings,
    stores: Stores,
    thinkers: ThinkerSubsystem,
    tasks: TaskSubsystem,
    metrics: CallMetrics,
    tracer: Tracer,
) -> AsyncIterator[Chat]:
    """Open the chat; turns that still run at the end of the block are cancelled."""
    chat = Chat(
        ChatDependencies(
            thinkers.dispatcher.with_handoff(tasks.handoff),
            thinkers.pipeline,
            stores.memory,
            settings.chat_deadline_s,
            ChatProfileUpdater(stores.outbox.enqueue, thinkers.summaries, tasks.coordinator.ingest),
            tracer,
            stores.turns,
        )
    )
    metrics.watch_queue("typed_turns", lambda: chat.running)
    try:
        yield chat
    finally:
        await chat.close()
