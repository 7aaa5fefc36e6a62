"""The typed side: turns that are written and read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.chat.build import open_chat
from backend.chat.chat import Chat
from backend.house.kept import Kept
from backend.house.thinking import Thinking
from backend.house.work import Work
from backend.session.metrics import Metrics
from backend.settings import Settings
from backend.tracing.base import Tracer


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
