"""A worker process: does background tasks for servers that share its Redis, until it is told to end.

It has what a Thinker needs (models, tools, memory) and nothing of calls. Any number may run, on any machine.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from rich.console import Console

from backend.background.build import Store, a_worker, open_archive, open_records
from backend.background.thinking import background_kinds
from backend.background.worker import Worker
from backend.mcp.build import other_servers
from backend.memory.embedded import join_memory
from backend.minds import HTTP_TIMEOUT_S, open_model, with_offline_child
from backend.pipeline.build import open_pipeline
from backend.settings import Settings
from backend.thinkers.build import build as build_thinkers


async def work(settings: Settings, concurrency: int | None = None) -> None:
    """Until SIGINT or SIGTERM; what runs then is handed back. Raises `SetupError` when it cannot start."""
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
    """A worker at work; yields what to tell the operator. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        opened = await join_memory(settings.redis_url, settings.data_dir)
        stack.push_async_callback(opened.memory.close)
        settings, _ = await with_offline_child(settings, stack)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S))
        archive = await stack.enter_async_context(open_archive(settings.background, opened.memory, opened.redis))
        model, folders = open_model(settings, archive, stack), settings.plugin_folders
        pipeline = await stack.enter_async_context(
            open_pipeline(settings, model=model, memory=opened.memory, http=http, folders=folders)
        )
        others = await stack.enter_async_context(other_servers(settings.mcp))
        thinkers = build_thinkers(
            settings,
            model=model,
            memory=opened.memory,
            http=http,
            folders=folders,
            pipeline=pipeline,
            tool_sources=[others] if others else [],
            modes_file=settings.modes_file,
        )
        records = open_records(settings.background, Store(opened.redis, opened.waiting, opened.url))
        worker = a_worker(settings.background, records, thinkers, archive, concurrency)
        await stack.enter_async_context(worker.working(opened.url))
        yield _lines(worker, opened.label, background_kinds(thinkers.manifests))


def _lines(worker: Worker, memory: str, kinds: frozenset[str]) -> tuple[str, ...]:
    return (f"Worker     {worker!r}", f"Memory     {memory}", f"Kinds      {', '.join(sorted(kinds))}")
