"""The server as an ASGI application: `uvicorn backend.main:app`.

`responder-thinker serve` is the better way to serve: it limits connections and requests before they reach the
application, and can start several processes. This module is for tools that start ASGI applications. It starts with the
ASGI server's lifespan. On a signal, callers hear a goodbye before the ASGI server ends the connections.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from backend.app.main import App, open_app
from backend.errors import SettingsError
from backend.observability.logs import keep_words_out
from backend.settings.settings import load_settings

log = logging.getLogger("uvicorn.error")  # uvicorn's own logger, which LOG_LEVEL does not change

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Served:
    """The ASGI application, which serves once it has started."""

    def __init__(self) -> None:
        self._app: App | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            raise SettingsError(
                "The server has not started.", hint="Let the ASGI server run the lifespan (--lifespan on)."
            )
        await self._app.asgi(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Start the server, and end it after the block. Raises `SetupError`."""
        keep_words_out()
        settings = load_settings()
        if settings.server.workers > 1:
            raise SettingsError("WORKERS starts processes of `responder-thinker serve`; leave it out under uvicorn.")
        async with open_app(settings, listening_host(sys.argv)) as opened:
            self._app = opened
            for line in opened.banner:
                log.info("%s", line)
            with _goodbye_first(opened):
                yield


def listening_host(arguments: Sequence[str]) -> str:
    """Return the address that uvicorn listens on. The address of another ASGI server counts as open to all."""
    program, *options = arguments
    if "uvicorn" not in Path(program).parts and Path(program).name != "uvicorn":
        return "0.0.0.0"
    for option, value in zip(options, [*options[1:], ""], strict=True):
        name, _, given = option.partition("=")
        if name == "--host":
            return given or value
    return os.environ.get("UVICORN_HOST", "127.0.0.1")


@contextmanager
def _goodbye_first(opened: App) -> Iterator[None]:
    """Within the block, the first signal ends the calls before the previous handler gets it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop, before = asyncio.get_running_loop(), {each: signal.getsignal(each) for each in SIGNALS}
    ending: list[asyncio.Task[None]] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    async def end(number: int) -> None:
        try:
            await opened.end_calls()
        finally:
            pass_on(number, None)

    def handle(number: int, frame: FrameType | None) -> None:
        if ending:
            pass_on(number, frame)
        else:
            loop.call_soon_threadsafe(lambda: ending.append(loop.create_task(end(number), name="shutdown")))

    for each in SIGNALS:
        signal.signal(each, handle)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


_served = Served()
app = Starlette(routes=[Mount("/", _served)], lifespan=_served.lifespan)
