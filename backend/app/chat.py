"""The typed side: turns that are written and read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.app.open_chat import open_chat
from backend.app.stores import Kept
from backend.app.tasks import Work
from backend.app.thinkers import Thinking
from backend.chat.chat import Chat
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings


@asynccontextmanager
async def open_typed(
    settings: Settings, kept: Kept, thinking: Thinking, work: Work, metrics: Metrics, tracer: Tracer
) -> AsyncIterator[Chat]:
    """All typed turns, until the block ends."""
    chatting = open_chat(
        settings,
        thinkers=thinking.thinkers,
        memory=kept.memory,
        keep=kept.outbox.put,
        summaries=thinking.summaries,
        pipeline=thinking.pipeline,
        handover=work.handover,
        overhear=work.coordinating.overhear,
        tracer=tracer,
        elsewhere=kept.turns,
    )
    async with chatting as chat:
        metrics.watch_queue("typed_turns", lambda: chat.running)
        yield chat
