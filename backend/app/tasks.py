"""Opens the work that outlives a sentence: background tasks and the coordinator."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.app.models import Models
from backend.app.notifications import Notifications
from backend.app.stores import Stores
from backend.app.thinkers import ThinkerSubsystem
from backend.coordinator.coordinator import Coordinator, CoordinatorDependencies, decide_without_model
from backend.coordinator.decider import ModelDecider
from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import Channels, CoordinatorState
from backend.notifications.dispatcher import NotificationDispatcher
from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import Tracer
from backend.runtime.supervisor import supervising
from backend.sessions.page_json import shown_by
from backend.settings.settings import Settings
from backend.settings.tasks import BackgroundSettings
from backend.storage.embedded import OpenedMemory
from backend.storage.outbox import Outbox
from backend.storage.pubsub import PubSub
from backend.tasks.broadcaster import Publish, TaskBroadcaster, TaskMetrics
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.queue import DocketQueue, open_queue
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskQueries, TaskService
from backend.tasks.worker import Worker, background_kinds, thinker_work
from backend.thinkers.dispatcher import ThinkerDispatcher

DAY_S = 86_400
UTTERANCES_WAITING = 100
"""Utterances that may wait to be written; of more, the oldest are dropped."""
DRAIN_WITHIN_S = 1.0
"""Seconds a process that ends gives those that wait."""


@dataclass(frozen=True, slots=True)
class TaskStore:
    """The records and the queue of background tasks."""

    repository: TaskRepository
    queue: DocketQueue
    queries: TaskQueries
    """A user's tasks, for conversations."""
    is_shared: bool
    """True where other processes reach the queue; else tasks end with this process."""


@dataclass(frozen=True, slots=True)
class TaskSubsystem:
    """Background tasks and the coordinator of a process, and the notifications they give out."""

    service: TaskService
    store: TaskStore
    metrics: TaskMetrics
    notifications: Notifications
    coordinator: CoordinatorService
    handoff: BackgroundHandoff
    """The way of calls and typed turns to the tasks."""
    banner: str
    """The line for the operator that says where tasks are done."""

    @asynccontextmanager
    async def broadcasting(
        self, pubsub: PubSub, is_here: Callable[[str], bool], publish: Publish
    ) -> AsyncIterator[None]:
        """Show pages the changes of their tasks until the block ends. Enter it before pub/sub starts."""
        broadcaster = TaskBroadcaster(self.store.repository, self.metrics, is_here=is_here, publish=publish)
        pubsub.subscribe(EVENTS, broadcaster.on_message)
        async with supervising("task broadcaster", broadcaster.run):
            yield


@asynccontextmanager
async def open_task_store(
    settings: BackgroundSettings, opened: OpenedMemory, notices: NotificationDispatcher
) -> AsyncIterator[TaskStore]:
    """Open the records and the queue; the results of tasks go into their owners' channels."""
    keep_s = round(settings.keep_days * DAY_S)
    repository = TaskRepository(opened.redis, Channels(opened.redis, "tasks").add_result, keep_s=keep_s)
    async with open_queue(opened.url) as queue:
        queries = TaskQueries(TaskService(repository, queue, kinds=()), notices)
        yield TaskStore(repository, queue, queries, opened.url is not None)


@asynccontextmanager
async def open_tasks(
    settings: Settings,
    stores: Stores,
    notifications: Notifications,
    models: Models,
    store: TaskStore,
    thinkers: ThinkerSubsystem,
    metrics: CallMetrics,
    tracer: Tracer,
) -> AsyncIterator[TaskSubsystem]:
    """Open background tasks and the coordinator; they are ended after the block."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(
            open_background(settings.background, store, thinkers.dispatcher, models.model_calls)
        )
        task_metrics = TaskMetrics(store.repository, store.queue)
        metrics.registry.register(task_metrics)
        coordinator = await stack.enter_async_context(
            open_coordinator(settings, stores, models, service, notifications.dispatcher, tracer)
        )
        handoff = BackgroundHandoff(service)
        stack.push_async_callback(handoff.close)
        banner = _banner(settings.background, store)
        yield TaskSubsystem(service, store, task_metrics, notifications, coordinator, handoff, banner)


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
        channels, state, tasks, decide, notifier.notify, notifier.is_on_call, shown_by(stores.pubsub.publish_page_event)
    )
    coordinator = Coordinator(dependencies, chosen)
    stores.pubsub.subscribe(EVENTS, coordinator.wake)
    utterances = Outbox(stores.memory, limit=UTTERANCES_WAITING)  # of its own, so that it delays no other writes
    async with supervising("coordinator", coordinator.run):
        try:
            yield CoordinatorService(coordinator, channels, state, utterances, tasks, notifier.waiting, chosen.enabled)
        finally:
            await utterances.drain(DRAIN_WITHIN_S)


@asynccontextmanager
async def open_background(
    settings: BackgroundSettings, store: TaskStore, thinkers: ThinkerDispatcher, model_calls: ModelCallLog
) -> AsyncIterator[TaskService]:
    """Open the task service, and a worker unless the settings leave the work to other processes.

    Without a shared queue, tasks are done in this process whatever the settings say.
    """
    async with AsyncExitStack() as stack:
        if settings.worker == "inline" or not store.is_shared:
            worker = make_worker(settings, store, thinkers, model_calls)
            await stack.enter_async_context(worker.working())
        yield TaskService(store.repository, store.queue, kinds=background_kinds(thinkers.registry.manifests))


def make_worker(
    settings: BackgroundSettings, store: TaskStore, thinkers: ThinkerDispatcher, model_calls: ModelCallLog
) -> Worker:
    """Return a worker that asks the Thinkers, not yet at work."""
    return Worker(store.queue, store.repository, thinker_work(thinkers, model_calls), settings)


def _banner(settings: BackgroundSettings, store: TaskStore) -> str:
    if not store.is_shared:
        return f"{settings.concurrency} tasks at once, in this process only: they end with it"
    if settings.worker == "inline":
        return f"{settings.concurrency} tasks at once here; more with `responder-thinker worker`"
    return "worker processes only: start some with `responder-thinker worker`"
