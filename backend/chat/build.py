"""Puts the chat together: the one call `main` makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.chat.answering import House
from backend.chat.chat import Chat
from backend.chat.elsewhere import ALONE, Elsewhere
from backend.chat.learning import Learning
from backend.memory.base import Memory
from backend.pipeline.pipeline import NO_STEPS, Pipeline
from backend.session.handover import Handover
from backend.session.history import Keep
from backend.session.knowing import Overhear
from backend.session.knowing_summary import Summaries
from backend.settings import Settings
from backend.thinkers.registry import Thinkers
from backend.tracing.base import NO_TRACER, Tracer


@asynccontextmanager
async def open_chat(
    settings: Settings,
    *,
    thinkers: Thinkers,
    memory: Memory,
    keep: Keep,
    summaries: Summaries,
    pipeline: Pipeline = NO_STEPS,
    handover: Handover | None = None,
    overhear: Overhear | None = None,
    tracer: Tracer = NO_TRACER,
    elsewhere: Elsewhere = ALONE,
) -> AsyncIterator[Chat]:
    """All typed turns; those that still run at the end are cancelled. The caller keeps ownership of the rest."""
    learning = Learning(keep, summaries, overhear)
    chat = Chat(House(thinkers, pipeline, memory, settings.chat_deadline_s, handover, learning, tracer, elsewhere))
    try:
        yield chat
    finally:
        await chat.close()
