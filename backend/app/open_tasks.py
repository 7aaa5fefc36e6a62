"""Puts background work together: the one call `main` makes, and the one a worker process makes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from backend.coordinator.channels import Channels
from backend.settings.tasks import BackgroundSettings
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.storage.pubsub import PubSub
from backend.tasks import keys
from backend.tasks.broadcaster import Crier, Publish
from backend.tasks.metrics import TaskFigures
from backend.tasks.model_call_log import Archive
from backend.tasks.queue import open_queue
from backend.tasks.repository import Records
from backend.tasks.run import RunLimits
from backend.tasks.service import Board
from backend.tasks.task import Results
from backend.tasks.thinking import Thinking, background_kinds
from backend.tasks.worker import Worker
from backend.thinkers.dispatcher import ThinkerDispatcher

DAY_S = 86_400
ARCHIVE_WAITS = 200
"""Attempts of models that may wait to be kept; older ones fall off."""
ARCHIVE_WITHIN_S = 1.0
"""Seconds a process that ends gives those that wait."""


@dataclass(frozen=True, slots=True)
class Store:
    """Redis, as background work needs it. See `storage.embedded.OpenedMemory`."""

    redis: Redis
    waiting: Redis
    url: str | None


@dataclass(frozen=True, slots=True)
class Background:
    """A process's background work."""

    board: Board
    archive: Archive
    records: Records
    figures: TaskFigures
    line: str
    """What to tell the operator."""

    @asynccontextmanager
    async def crying(self, pubsub: PubSub, here: Callable[[str], bool], publish: Publish) -> AsyncIterator[None]:
        """Have the page told of tasks; see `Crier`. Enter it before pub/sub starts."""
        crier = Crier(self.records, self.figures, here=here, publish=publish)
        pubsub.subscribe(keys.EVENTS, crier.hear)
        crying = asyncio.create_task(crier.run(), name="task crier")
        try:
            yield
        finally:
            crying.cancel()
            await asyncio.wait({crying})


@asynccontextmanager
async def open_archive(settings: BackgroundSettings, memory: Memory, redis: Redis) -> AsyncIterator[Archive]:
    """Where models' attempts are kept; it has an outbox of its own, so that it crowds nothing else out."""
    outbox = Outbox(memory, limit=ARCHIVE_WAITS)
    try:
        yield Archive(redis, outbox, keep_s=round(settings.keep_days * DAY_S))
    finally:
        await outbox.drain(ARCHIVE_WITHIN_S)


def open_records(settings: BackgroundSettings, store: Store, results: Results | None = None) -> Records:
    """Where tasks are kept; their results go into their owners' channels unless told otherwise."""
    return Records(store.redis, results or Channels(store.redis, "tasks"), keep_s=round(settings.keep_days * DAY_S))


def a_worker(
    settings: BackgroundSettings,
    records: Records,
    thinkers: ThinkerDispatcher,
    archive: Archive,
    concurrency: int | None = None,
) -> Worker:
    """A worker over the Thinkers, not yet at work."""
    limits = RunLimits(settings.retries, settings.retry_after_s, settings.soft_limit_s, settings.hard_limit_s)
    return Worker(
        records,
        Thinking(thinkers, archive),
        limits,
        concurrency=concurrency or settings.concurrency,
        lease_s=settings.lease_s,
    )


@asynccontextmanager
async def open_background(
    settings: BackgroundSettings,
    store: Store,
    *,
    thinkers: ThinkerDispatcher,
    archive: Archive,
    registry: CollectorRegistry,
    results: Results | None = None,
) -> AsyncIterator[Background]:
    """The board, and a worker unless other processes are to do it.

    Without a Redis of its own (`store.url` None), tasks are done in this process whatever the settings say, and end
    with it. The caller keeps ownership of everything passed in.
    """
    records = open_records(settings, store, results)
    inline = settings.worker == "inline" or store.url is None
    worker = a_worker(settings, records, thinkers, archive)
    async with worker.working(store.url) if inline else open_queue(store.url) as queue:
        figures = TaskFigures(records, queue)
        figures.show_in(registry)
        board = Board(records, queue, kinds=background_kinds(thinkers.registry.manifests))
        yield Background(board, archive, records, figures, _line(settings, store, inline))


def _line(settings: BackgroundSettings, store: Store, inline: bool) -> str:
    if store.url is None:
        return f"{settings.concurrency} tasks at once, in this process only: they end with it"
    if inline:
        return f"{settings.concurrency} tasks at once here; more with `responder-thinker worker`"
    return "worker processes only: start some with `responder-thinker worker`"
