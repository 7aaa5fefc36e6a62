"""Opens the coordinator of a process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.app.models import Models
from backend.app.stores import Stores
from backend.coordinator.coordinator import Coordinator, CoordinatorDependencies, decide_without_model
from backend.coordinator.decider import ModelDecider
from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import Channels, CoordinatorState
from backend.notifications.dispatcher import NotificationDispatcher
from backend.observability.tracing import Tracer
from backend.runtime.supervisor import supervised
from backend.sessions.page_json import shown_by
from backend.settings.settings import Settings
from backend.storage.outbox import Outbox
from backend.tasks.repository import EVENTS
from backend.tasks.service import TaskService

UTTERANCES_WAITING = 100
"""Utterances that may wait to be written; of more, the oldest are dropped."""
DRAIN_WITHIN_S = 1.0
"""Seconds a process that ends gives those that wait."""


@asynccontextmanager
async def open_coordinator(
    settings: Settings,
    stores: Stores,
    models: Models,
    tasks: TaskService,
    notifier: NotificationDispatcher,
    tracer: Tracer,
) -> AsyncIterator[CoordinatorService]:
    """Run a coordinator until the block ends; open it before pub/sub starts."""
    redis, chosen = stores.opened.redis, settings.coordinator
    channels, state = Channels(redis, secrets.token_hex(6), claim_after_s=0.0), CoordinatorState(redis)
    decide = decide_without_model
    if chosen.enabled:
        scope = models.model_calls.scope
        decide = ModelDecider(models.model, settings.thinker_model, scope, tasks.kinds, chosen, tracer).decide
    dependencies = CoordinatorDependencies(
        channels, state, tasks, decide, notifier, notifier.is_on_call, shown_by(stores.pubsub.publish_page_event)
    )
    coordinator = Coordinator(dependencies, chosen)
    stores.pubsub.subscribe(EVENTS, coordinator.wake)
    utterances = Outbox(stores.memory, limit=UTTERANCES_WAITING)  # of its own, so that it delays no other writes
    running = supervised("coordinator", coordinator.run)
    try:
        yield CoordinatorService(coordinator, channels, state, utterances, tasks, notifier.waiting, chosen.enabled)
    finally:
        await utterances.drain(DRAIN_WITHIN_S)
        running.cancel()
        await asyncio.wait([running])
