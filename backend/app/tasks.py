"""What outlives a sentence: background tasks, what is told of them unasked, and who thinks about both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.app.models import Minds
from backend.app.notifications import open_notifications
from backend.app.open_tasks import Background, Store, open_background
from backend.app.stores import Kept
from backend.app.thinkers import Thinking
from backend.coordinator.service import Coordinating, open_coordinating
from backend.notifications.dispatcher import Teller
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings
from backend.tasks.handoff import Handover
from backend.tasks.thinking import background_kinds


@dataclass(frozen=True, slots=True)
class Work:
    """A process's long work."""

    background: Background
    teller: Teller
    coordinating: Coordinating
    handover: Handover
    """The way of calls and typed turns to the tasks."""


@asynccontextmanager
async def open_work(
    settings: Settings, kept: Kept, minds: Minds, thinking: Thinking, metrics: Metrics, tracer: Tracer
) -> AsyncIterator[Work]:
    """All of it, ended with the block."""
    opened = kept.opened
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(
            open_background(
                settings.background,
                Store(opened.redis, opened.waiting, opened.url),
                thinkers=thinking.thinkers,
                archive=minds.archive,
                registry=metrics.registry,
            )
        )
        teller = Teller(kept.notices, kept.relay)
        stack.push_async_callback(teller.close)
        await stack.enter_async_context(
            open_notifications(
                settings.notifications,
                thinking.reminding,
                teller,
                relay=kept.relay,
                presence=kept.presence,
                registry=metrics.registry,
            )
        )
        teller.on_told(thinking.reminding.told)
        thinking.asking.open(background.board, teller)
        coordinating = await stack.enter_async_context(
            open_coordinating(
                settings.coordinator,
                opened.redis,
                kept.relay,
                tasks=background.board,
                model=minds.model,
                model_name=settings.thinker_model,
                archive=minds.archive,
                kinds=background_kinds(thinking.thinkers.manifests),
                teller=teller,
                waiting=teller.waiting,
                listening=teller.listening,
                show=kept.relay.show,
                tracer=tracer,
            )
        )
        handover = Handover(background.board)
        stack.push_async_callback(handover.close)
        yield Work(background, teller, coordinating, handover)
