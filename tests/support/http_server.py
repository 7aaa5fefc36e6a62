"""Runs any ASGI application on a real socket, inside the test's own event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn

STOP_WITHIN_S = 5
"""Seconds for open connections to end before they are cut."""


@asynccontextmanager
async def serve(
    app: Any, *, config: Callable[..., uvicorn.Config] = uvicorn.Config, **options: Any
) -> AsyncIterator[str]:
    """Serve `app` on a free port of 127.0.0.1; yields its address, e.g. `http://127.0.0.1:43210`.

    `options` are uvicorn's. On leaving, open requests get 5 s, then they are cancelled.
    """
    settings: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "proxy_headers": False,
        "ws_per_message_deflate": False,
    }
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = _Server(config(app, **settings | options))
        task = asyncio.create_task(server.serve(sockets=[listener]), name="test server")
        await _started(server, task)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop.set()
            await task


async def _started(server: _Server, task: asyncio.Task[None]) -> None:
    ready = asyncio.create_task(server.ready.wait())
    await asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if task.done():
        await task
        raise RuntimeError("the server did not start")


class _Server(uvicorn.Server):
    """uvicorn without its clock, its pauses and its signal handlers. Events say when it is up and when to stop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.stop = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await self._end_requests()
        for server in self.servers:
            await server.wait_closed()
        await self.lifespan.shutdown()

    async def _end_requests(self) -> None:
        tasks = set(self.server_state.tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
