"""Puts background work together: the one call `main` makes, and the one a worker process makes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from redis.asyncio import Redis

from backend.background import keys
from backend.background.archive import Archive
from backend.background.board import Board
from backend.background.channels import Channels
from backend.background.crier import Crier, Publish
from backend.background.figures import TaskFigures
from backend.background.queue import open_queue
from backend.background.records import Records
from backend.background.run import RunLimits
from backend.background.tasks import Results
from backend.background.thinking import Thinking, background_kinds
from backend.background.worker import Worker
from backend.memory.base import Memory
from backend.memory.outbox import Outbox
from backend.memory.relay import Relay
from backend.settings_background import BackgroundSettings
from backend.thinkers.registry import Thinkers

DAY_S = 86_400
ARCHIVE_WAITS = 200
"""Attempts of models that may wait to be kept; older ones fall off."""
ARCHIVE_WITHIN_S = 1.0
"""Seconds a process that ends gives those that wait."""


@dataclass(frozen=True, slots=True)
class Store:
    """Redis, as background work needs it. See `memory.embedded.OpenedMemory`."""

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
    async def crying(self, relay: Relay, here: Callable[[str], bool], publish: Publish) -> AsyncIterator[None]:
        """Have the page told of tasks; see `Crier`. Enter it before the relay begins."""
        crier = Crier(self.records, self.figures, here=here, publish=publish)
        relay.on(keys.EVENTS, crier.hear)
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
    settings: BackgroundSettings, records: Records, thinkers: Thinkers, archive: Archive, concurrency: int | None = None
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
    thinkers: Thinkers,
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
        board = Board(records, queue, kinds=background_kinds(thinkers.manifests))
        yield Background(board, archive, records, figures, _line(settings, store, inline))


def _line(settings: BackgroundSettings, store: Store, inline: bool) -> str:
    if store.url is None:
        return f"{settings.concurrency} tasks at once, in this process only: they end with it"
    if inline:
        return f"{settings.concurrency} tasks at once here; more with `responder-thinker worker`"
    return "worker processes only: start some with `responder-thinker worker`"
