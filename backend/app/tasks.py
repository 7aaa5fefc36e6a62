"""This module opens background tasks and the coordinator."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

from backend.access.budgets import Budgets
from backend.app.budgets import admit_task, paid_by
from backend.app.foundation import Foundation
from backend.app.stores import TaskStore
from backend.coordinator.coordinator import Coordinator, Decision, Digest, decide_without_model
from backend.coordinator.decider import ModelDecider
from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import Channels, CoordinatorState
from backend.observability.tracing import NO_TRACER, Tracer
from backend.runtime.supervisor import supervising
from backend.sessions.event_log import shown_by
from backend.settings.tasks import BackgroundSettings
from backend.storage.outbox import Outbox
from backend.storage.pubsub import PubSub
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.metrics import TaskMetrics
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.repository import EVENTS
from backend.tasks.service import TaskService
from backend.tasks.worker import Worker, background_kinds, thinker_work
from backend.thinkers.dispatcher import ThinkerDispatcher

UTTERANCES_WAITING = 100
"""The most utterances that wait to be written; beyond that, the oldest are dropped."""
DRAIN_WITHIN_S = 1.0
"""Seconds an ending process spends on writing the waiting utterances."""


@dataclass(frozen=True, slots=True)
class TaskSubsystem:
    """Background tasks and the coordinator of a process."""

    service: TaskService
    coordinator: CoordinatorService
    handoff: BackgroundHandoff
    """Hands work of calls and typed turns over to background tasks."""


@asynccontextmanager
async def open_tasks(foundation: Foundation) -> AsyncIterator[TaskSubsystem]:
    """Open background tasks and the coordinator before pub/sub starts. They end after the block."""
    store, thinkers = foundation.task_store, foundation.thinkers.dispatcher
    async with (
        open_background(
            foundation.settings.background,
            store,
            thinkers,
            foundation.models.model_calls,
            foundation.budgets,
            foundation.tracer,
            foundation.stores.pubsub,
        ) as service,
        open_coordinator(foundation, service) as coordinator,
    ):
        metrics, handoff = TaskMetrics(), BackgroundHandoff(service, foundation.stores.outbox.enqueue)
        metrics.register_in(foundation.metrics.registry)
        foundation.stores.pubsub.subscribe(EVENTS, metrics.on_message)
        yield TaskSubsystem(service, coordinator, handoff)


@asynccontextmanager
async def open_coordinator(foundation: Foundation, tasks: TaskService) -> AsyncIterator[CoordinatorService]:
    """Run a coordinator until the block ends."""
    stores, models, settings = foundation.stores, foundation.models, foundation.settings
    notifier, chosen = foundation.notifications.dispatcher, settings.coordinator
    redis = stores.opened.redis
    channels, state = Channels(redis), CoordinatorState(redis)
    decide: Callable[[Digest], Awaitable[Decision]] = decide_without_model
    if chosen.enabled and not foundation.thinkers.registry.dependencies.without_model:
        scope, model = models.model_calls.scope, chosen.model or settings.models.thinker_model
        decider = ModelDecider(models.model, model, scope, tasks.kinds, foundation.tracer)
        decide = paid_by(foundation.budgets, lambda digest: digest.user_id, decider.decide)
    publish = shown_by(stores.pubsub.publish_page_event)
    coordinator = Coordinator(
        channels, state, tasks, decide, notifier.notify, notifier.is_on_call, publish, settings=chosen
    )
    stores.pubsub.subscribe(EVENTS, coordinator.wake)
    utterances = Outbox(stores.memory, limit=UTTERANCES_WAITING)  # its own outbox, so that it delays no other writes
    async with supervising("coordinator", coordinator.run):
        try:
            yield CoordinatorService(coordinator, utterances, notifier.waiting)
        finally:
            await utterances.drain(DRAIN_WITHIN_S)


@asynccontextmanager
async def open_background(
    settings: BackgroundSettings,
    store: TaskStore,
    thinkers: ThinkerDispatcher,
    model_calls: ModelCallLog,
    budgets: Budgets | None = None,
    tracer: Tracer = NO_TRACER,
    pubsub: PubSub | None = None,
) -> AsyncIterator[TaskService]:
    """Open the task service, and a worker unless the settings leave the work to other processes.

    Without a shared queue, this process always runs the tasks itself.
    """
    admit = partial(admit_task, budgets) if budgets else None
    works = settings.worker == "inline" or not store.is_shared
    worker = make_worker(settings, store, thinkers, model_calls, budgets, tracer)
    if works and pubsub:
        pubsub.subscribe(EVENTS, worker.wake)
    async with worker.working() if works else nullcontext():
        yield TaskService(store.repository, kinds=background_kinds(thinkers.registry.manifests), admit=admit)


def make_worker(
    settings: BackgroundSettings,
    store: TaskStore,
    thinkers: ThinkerDispatcher,
    model_calls: ModelCallLog,
    budgets: Budgets | None = None,
    tracer: Tracer = NO_TRACER,
) -> Worker:
    """Return a worker that asks the Thinkers, not yet started. Each task is charged to its owner."""
    work = thinker_work(thinkers, model_calls, tracer)
    if budgets:
        work = paid_by(budgets, lambda run: run.task.owner, work)
    return Worker(store.repository, work, settings)
