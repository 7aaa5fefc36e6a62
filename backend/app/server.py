"""This module serves the app over HTTP with uvicorn, and ends calls first, then connections, then the rest."""

import asyncio
import logging
import signal
import socket
from functools import partial
from types import FrameType

import uvicorn
from rich.console import Console

from backend.access.addresses import Networks
from backend.app.connections import Connections, LimitedConfig, raise_file_limit
from backend.app.main import App, open_app
from backend.app.worker_processes import bound_socket
from backend.responders.warm_up import WarmUp
from backend.runtime.supervisor import event_or_timeout, supervising
from backend.settings.settings import Settings

log = logging.getLogger(__name__)

CONNECTIONS_CLOSE_WITHIN_S = 5
TICK_S = 1.0
"""Seconds between two new `Date` headers."""
BACKLOG = 2048
"""Connections that may wait in the kernel: uvicorn's default."""


async def serve(settings: Settings, host: str, port: int, *, shared_port: bool = False, announce: bool = True) -> None:
    """Serve until SIGINT or SIGTERM. Other processes may listen on a shared port, too. Raises `SetupError`."""
    listening = bound_socket(host, port, shared=shared_port)
    try:
        async with open_app(settings, host) as app:
            server = Server(app, settings)
            listening.listen(BACKLOG)  # first, since callers may call as soon as they read the address
            if announce:
                _announce(app, listening)
            async with supervising("warm-up notice", partial(_announce_loaded, app.warm_up if announce else None)):
                await server.serve(sockets=[listening])
    finally:
        listening.close()


class Server(uvicorn.Server):
    """uvicorn's server, except that a signal ends calls before connections, since event streams last as long as calls.

    It overrides methods of uvicorn, which `tests/test_library_pins.py` pins. If they changed, the server would wake ten
    times a second, or end without a goodbye to callers.
    """

    def __init__(self, app: App, settings: Settings) -> None:
        here = settings.server
        proxies = Networks(here.trusted_proxies)
        connections = Connections(here.connections_per_address, proxies, raise_file_limit())
        super().__init__(
            LimitedConfig(
                app.asgi,
                connections,
                log_config=None,
                access_log=False,  # An access log would hold session tokens.
                proxy_headers=False,  # The app reads these headers itself, and only from TRUSTED_PROXIES.
                server_header=False,
                ws_per_message_deflate=False,
                ws_max_size=768 * 1024,  # A picture in the Realtime protocol has up to 700 KB.
                timeout_graceful_shutdown=CONNECTIONS_CLOSE_WITHIN_S,
            )
        )
        self._app = app
        self._ending: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def main_loop(self) -> None:
        """Wait for the end without polling; uvicorn's own loop polls ten times a second."""
        while not await self.on_tick(0):
            await event_or_timeout(self._over, TICK_S)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the calls with a goodbye on the first signal; end the process on a second one."""
        if self._ending is not None:  # Child processes notice by themselves that this process is gone.
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self._ending = asyncio.get_running_loop().create_task(self._end(), name="shutdown")

    async def _end(self) -> None:
        # uvicorn's own `handle_exit` raises the signal again after the shutdown, which would kill this process before
        # memory is written out and the child processes have ended.
        try:
            await self._app.end_calls()
        finally:
            self.should_exit = True
            self._over.set()


def _announce(app: App, listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    shown = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::", "::1") else host  # the name people type
    console = Console(highlight=False)
    console.print(f"\n[bold]responder-thinker[/bold] is on  [bold cyan]http://{shown}:{port}[/]\n")
    for line in app.banner:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    if app.warm_up and app.warm_up.loading:
        console.print(
            f"  Warm-up    loading {', '.join(app.warm_up.loading)}; you can call already", markup=False, soft_wrap=True
        )
    console.print("\n  Press Ctrl-C to stop.\n")


async def _announce_loaded(warm_up: WarmUp | None) -> None:
    if warm_up and warm_up.loading:
        await warm_up.wait()
        Console(highlight=False).print(f"  Warm-up    done after {warm_up.took_s:.1f} s\n", markup=False)
