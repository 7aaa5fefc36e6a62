"""Puts the chat together: the one call `main` makes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.chat.answering import House
from backend.chat.chat import Chat
from backend.chat.learning import Learning
from backend.chat.peer_turns import ALONE, Elsewhere
from backend.middleware.pipeline import NO_STEPS, Pipeline
from backend.observability.tracing import NO_TRACER, Tracer
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.storage.outbox import Keep
from backend.tasks.handoff import Handover
from backend.thinkers.registry import Thinkers
from backend.users.profile_learner import Overhear
from backend.users.summaries import Summaries


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
