"""Typed turns over a scripted model, for whoever needs a whole HTTP edge."""

from __future__ import annotations

from pathlib import Path

import httpx2

from backend.chat.answering import House
from backend.chat.chat import Chat
from backend.chat.elsewhere import ALONE, Elsewhere
from backend.memory.base import Memory
from backend.models.base import ChatModel
from backend.models.fake import FakeChatModel
from backend.pipeline.pipeline import NO_STEPS, Pipeline
from backend.settings import Settings
from backend.thinkers.build import build
from backend.tracing.base import NO_TRACER, Tracer

NO_HTTP = httpx2.AsyncClient(verify=False)
"""The tools' client, of which nothing is asked."""


def chat_over(
    settings: Settings,
    memory: Memory,
    model: ChatModel | None = None,
    *,
    pipeline: Pipeline = NO_STEPS,
    folders: tuple[Path, ...] = (),
    tracer: Tracer = NO_TRACER,
    elsewhere: Elsewhere = ALONE,
) -> Chat:
    """A chat with all Thinkers, whose only model is `model`."""
    thinkers = build(
        settings,
        model=model or FakeChatModel(),
        memory=memory,
        http=NO_HTTP,
        folders=folders,
        pipeline=pipeline,
        modes_file=settings.modes_file,
    )
    return Chat(House(thinkers, pipeline, memory, settings.chat_deadline_s, tracer=tracer, elsewhere=elsewhere))
