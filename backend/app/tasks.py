"""Opens the work that outlives a sentence: background tasks, notifications, and the coordinator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.app.models import Models
from backend.app.notifications import open_notifications
from backend.app.open_tasks import Background, Store, open_background
from backend.app.stores import Stores
from backend.app.thinkers import ThinkerSubsystem
from backend.coordinator.service import Coordinating, open_coordinating
from backend.notifications.dispatcher import Teller
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.thinking import background_kinds


@dataclass(frozen=True, slots=True)
class TaskSubsystem:
    """Background tasks, notifications and the coordinator of a process."""

    background: Background
    teller: Teller
    coordinating: Coordinating
    handover: BackgroundHandoff
    """The way of calls and typed turns to the tasks."""


@asynccontextmanager
async def open_tasks(
    settings: Settings,
    stores: Stores,
    models: Models,
    thinkers: ThinkerSubsystem,
    metrics: Metrics,
    tracer: Tracer,
) -> AsyncIterator[TaskSubsystem]:
    """Open background tasks, notifications and the coordinator; they are ended after the block."""
    opened = stores.opened
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(
            open_background(
                settings.background,
                Store(opened.redis, opened.waiting, opened.url),
                thinkers=thinkers.registry,
                archive=models.archive,
                registry=metrics.registry,
            )
        )
        teller = Teller(stores.notices, stores.pubsub)
        stack.push_async_callback(teller.close)
        await stack.enter_async_context(
            open_notifications(
                settings.notifications,
                thinkers.reminding,
                teller,
                pubsub=stores.pubsub,
                presence=stores.presence,
                registry=metrics.registry,
            )
        )
        teller.on_told(thinkers.reminding.told)
        thinkers.asking.open(background.board, teller)
        coordinating = await stack.enter_async_context(
            open_coordinating(
                settings.coordinator,
                opened.redis,
                stores.pubsub,
                tasks=background.board,
                model=models.model,
                model_name=settings.thinker_model,
                archive=models.archive,
                kinds=background_kinds(thinkers.registry.manifests),
                teller=teller,
                waiting=teller.waiting,
                listening=teller.listening,
                show=stores.pubsub.publish_page_event,
                tracer=tracer,
            )
        )
        handover = BackgroundHandoff(background.board)
        stack.push_async_callback(handover.close)
        yield TaskSubsystem(background, teller, coordinating, handover)
