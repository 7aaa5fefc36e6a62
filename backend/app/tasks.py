"""Opens the work that outlives a sentence: background tasks and the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from backend.app.coordinator import open_coordinator
from backend.app.models import Models
from backend.app.notifications import Notifications
from backend.app.stores import Stores
from backend.app.thinkers import ThinkerSubsystem
from backend.coordinator.service import CoordinatorService
from backend.coordinator.store import Channels
from backend.observability.call_metrics import Metrics
from backend.observability.tracing import Tracer
from backend.runtime.supervisor import supervised
from backend.settings.settings import Settings
from backend.settings.tasks import BackgroundSettings
from backend.storage.embedded import OpenedMemory
from backend.storage.pubsub import PubSub
from backend.tasks.broadcaster import Publish, TaskBroadcaster, TaskMetrics
from backend.tasks.handoff import BackgroundHandoff
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.queue import open_queue
from backend.tasks.repository import EVENTS, TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.worker import RunLimits, Worker, background_kinds, thinker_work
from backend.thinkers.dispatcher import ThinkerDispatcher

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """The background tasks of a process."""

    service: TaskService
    repository: TaskRepository
    metrics: TaskMetrics
    banner: str
    """The line for the operator that says where tasks are done."""

    @asynccontextmanager
    async def broadcasting(
        self, pubsub: PubSub, is_here: Callable[[str], bool], publish: Publish
    ) -> AsyncIterator[None]:
        """Show pages the changes of their tasks until the block ends. Enter it before pub/sub starts."""
        broadcaster = TaskBroadcaster(self.repository, self.metrics, is_here=is_here, publish=publish)
        pubsub.subscribe(EVENTS, broadcaster.on_message)
        running = supervised("task broadcaster", broadcaster.run)
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait({running})


@dataclass(frozen=True, slots=True)
class TaskSubsystem:
    """Background tasks and the coordinator of a process, and the notifications they give out."""

    background: BackgroundTasks
    notifications: Notifications
    coordinator: CoordinatorService
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
    async with AsyncExitStack() as stack:
        enter, opened = stack.enter_async_context, stores.opened
        background = await enter(
            open_background(settings.background, opened, thinkers.dispatcher, models.model_calls, metrics.registry)
        )
        dispatcher = notifications.dispatcher
        thinkers.task_queries.open(background.service, dispatcher)
        coordinator = await enter(open_coordinator(settings, stores, models, background.service, dispatcher, tracer))
        handoff = BackgroundHandoff(background.service)
        stack.push_async_callback(handoff.close)
        yield TaskSubsystem(background, notifications, coordinator, handoff)


@asynccontextmanager
async def open_background(
    settings: BackgroundSettings,
    opened: OpenedMemory,
    thinkers: ThinkerDispatcher,
    model_calls: ModelCallLog,
    registry: CollectorRegistry,
) -> AsyncIterator[BackgroundTasks]:
    """Open the task service, and a worker unless the settings leave the work to other processes.

    Without a Redis server (`opened.url` None), tasks are done in this process whatever the settings say, and end with
    it. The caller keeps ownership of everything passed in.
    """
    repository = open_repository(settings, opened.redis)
    inline = settings.worker == "inline" or opened.url is None
    worker = make_worker(settings, repository, thinkers, model_calls)
    async with worker.working(opened.url) if inline else open_queue(opened.url) as queue:
        metrics = TaskMetrics(repository, queue)
        registry.register(metrics)
        service = TaskService(repository, queue, kinds=background_kinds(thinkers.registry.manifests))
        yield BackgroundTasks(service, repository, metrics, _banner(settings, opened, inline))


def open_repository(settings: BackgroundSettings, redis: Redis) -> TaskRepository:
    """Return the repository of tasks; their results go into their owners' channels."""
    return TaskRepository(redis, Channels(redis, "tasks"), keep_s=round(settings.keep_days * DAY_S))


def make_worker(
    settings: BackgroundSettings,
    repository: TaskRepository,
    thinkers: ThinkerDispatcher,
    model_calls: ModelCallLog,
    concurrency: int | None = None,
) -> Worker:
    """Return a worker that asks the Thinkers, not yet at work."""
    limits = RunLimits(settings.retries, settings.retry_after_s, settings.soft_limit_s, settings.hard_limit_s)
    return Worker(
        repository,
        thinker_work(thinkers, model_calls),
        limits,
        concurrency=concurrency or settings.concurrency,
        lease_s=settings.lease_s,
    )


def _banner(settings: BackgroundSettings, opened: OpenedMemory, inline: bool) -> str:
    if opened.url is None:
        return f"{settings.concurrency} tasks at once, in this process only: they end with it"
    if inline:
        return f"{settings.concurrency} tasks at once here; more with `responder-thinker worker`"
    return "worker processes only: start some with `responder-thinker worker`"
