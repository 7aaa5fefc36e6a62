"""Opens the work that outlives a sentence: background tasks and the coordinator."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.app.models import Models
from backend.app.notifications import Notifications
from backend.app.open_tasks import Background, Store, open_background
from backend.app.stores import Stores
from backend.app.thinkers import ThinkerSubsystem
from backend.coordinator.service import Coordinating, open_coordinating
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.settings.settings import Settings
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.thinking import background_kinds


@dataclass(frozen=True, slots=True)
class TaskSubsystem:
    """Background tasks and the coordinator of a process, and the notifications they give out."""

    background: Background
    notifications: Notifications
    coordinating: Coordinating
    handoff: BackgroundHandoff
    """The way of calls and typed turns to the tasks."""


@asynccontextmanager
async def open_tasks(
    settings: Settings,
    stores: Stores,
    notifications: Notifications,
    models: Models,
    thinkers: ThinkerSubsystem,
    metrics: Metrics,
    tracer: Tracer,
) -> AsyncIterator[TaskSubsystem]:
    """Open background tasks and the coordinator; they are ended after the block."""
    opened = stores.opened
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(
            open_background(
                settings.background,
                Store(opened.redis, opened.waiting, opened.url),
                thinkers=thinkers.dispatcher,
                archive=models.archive,
                registry=metrics.registry,
            )
        )
        dispatcher = notifications.dispatcher
        thinkers.asking.open(background.board, dispatcher)
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
                notifier=dispatcher,
                waiting=dispatcher.waiting,
                listening=dispatcher.is_on_call,
                show=stores.pubsub.publish_page_event,
                tracer=tracer,
            )
        )
        handoff = BackgroundHandoff(background.board)
        stack.push_async_callback(handoff.close)
        yield TaskSubsystem(background, notifications, coordinating, handoff)
