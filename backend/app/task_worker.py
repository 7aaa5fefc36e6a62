"""A worker process runs background tasks for the servers that share its Redis, until a signal ends it.

It has what a Thinker needs (models, tools, memory) but no calls. Any number may run, on any machine.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rich.console import Console

from backend.app.foundation import open_foundation
from backend.app.tasks import make_worker
from backend.settings.settings import Settings
from backend.storage.embedded import join_memory
from backend.tasks.worker import background_kinds


async def work(settings: Settings, concurrency: int | None = None) -> None:
    """Work until SIGINT or SIGTERM, then hand running tasks back. Raises `SetupError` when it cannot start."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ending.set)
    console = Console(highlight=False)
    async with open_worker(settings, concurrency) as lines:
        for line in lines:
            console.print(f"  {line}", markup=False, soft_wrap=True)
        console.print("\n  Press Ctrl-C to stop. Unfinished tasks go to another worker.\n")
        await ending.wait()


@asynccontextmanager
async def open_worker(settings: Settings, concurrency: int | None = None) -> AsyncIterator[tuple[str, ...]]:
    """Open a working worker, and yield the operator's lines. Raises `SetupError`."""
    memory = settings.memory
    opened = await join_memory(
        memory.redis_url, memory.data_dir, local_url=memory.local_redis_url, user_ttl_s=memory.retention_s
    )
    async with open_foundation(settings, opened, serves=False) as foundation:
        background = settings.background.model_copy(update={"concurrency": concurrency} if concurrency else {})
        thinkers = foundation.thinkers.dispatcher
        worker = make_worker(
            background,
            foundation.task_store,
            thinkers,
            foundation.models.model_calls,
            foundation.budgets,
            foundation.tracer,
        )
        async with worker.working():
            kinds = ", ".join(sorted(background_kinds(thinkers.registry.manifests)))
            at_once = "1 task" if background.concurrency == 1 else f"{background.concurrency} tasks"
            yield f"Worker     {worker.name}: {at_once} at a time", f"Memory     {opened.label}", f"Kinds      {kinds}"
