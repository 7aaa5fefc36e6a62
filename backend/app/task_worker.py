"""A worker process does background tasks for servers that share its Redis, until a signal ends it.

It has what a Thinker needs (models, tools, memory) and nothing of calls. Any number may run, on any machine.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from rich.console import Console

from backend.app.models import open_models, with_demo
from backend.app.notifications import open_notifications
from backend.app.stores import open_stores, retention_s
from backend.app.tasks import make_worker, open_task_store
from backend.app.thinkers import open_thinkers
from backend.settings.settings import Settings
from backend.storage.embedded import join_memory
from backend.tasks.worker import Worker, background_kinds


async def work(settings: Settings, concurrency: int | None = None) -> None:
    """Work until SIGINT or SIGTERM; running tasks are then handed back. Raises `SetupError` when it cannot start."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    async with open_worker(settings, concurrency) as lines:
        console = Console(highlight=False)
        for line in lines:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        console.print("\n  Ctrl-C ends it; what runs then goes to another worker.\n")
        await ending.wait()


@asynccontextmanager
async def open_worker(settings: Settings, concurrency: int | None = None) -> AsyncIterator[tuple[str, ...]]:
    """Open a working worker; yields the operator's lines. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        opened = await join_memory(settings.redis_url, settings.data_dir, user_ttl_s=retention_s(settings))
        stores = await enter(open_stores(opened, settings))
        notifications = await enter(
            open_notifications(settings.notifications, opened.redis, stores.pubsub, stores.memory, delivers=False)
        )
        settings, _ = await with_demo(settings, stack)
        models = await enter(open_models(settings, stores))
        background = settings.background.model_copy(update={"concurrency": concurrency} if concurrency else {})
        store = await enter(open_task_store(background, opened, notifications.dispatcher))
        thinkers = await enter(open_thinkers(settings, stores, notifications, models, user_tasks=store.queries))
        worker = make_worker(background, store, thinkers.dispatcher, models.model_calls)
        await enter(worker.working())
        yield _lines(worker, opened.label, background_kinds(thinkers.registry.manifests))


def _lines(worker: Worker, memory: str, kinds: frozenset[str]) -> tuple[str, ...]:
    return (f"Worker     {worker!r}", f"Memory     {memory}", f"Kinds      {', '.join(sorted(kinds))}")
