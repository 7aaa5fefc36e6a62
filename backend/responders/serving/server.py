"""uvicorn, set up for this server: no compression, bounded messages, and connections that can be broken on purpose."""

import argparse
import json
import os
import signal
import socket
import sys
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from backend.errors import SetupError
from backend.runtime import parent

ABORT = "offline.abort"
"""The ASGI extension that holds a function which breaks the connection without a close frame."""
MAX_MESSAGE_BYTES = 21 * 1024 * 1024
"""The API's largest append, 15 MiB, in base64 and JSON."""
GRACE_S = 1
"""Seconds for which open connections may go on at shutdown."""


class AbortableWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket protocol that lets the application break its connection like a failing network."""

    def handle_connect(self, event: Request) -> None:
        """Accept the handshake, then add the extension, before the application starts in the loop's next round."""
        super().handle_connect(event)
        if hasattr(self, "scope"):
            (self.scope.get("extensions") or {})[ABORT] = self.transport.abort  # type: ignore[assignment]


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises `SetupError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise SetupError(
            f"Cannot listen on {host} port {port}: {error.strerror}.", hint="Choose another --host or --port."
        ) from error


class UvicornServer:
    """Serves `app` on one socket until `stop` or a signal."""

    def __init__(self, app: Starlette) -> None:
        config = uvicorn.Config(
            app,
            ws=AbortableWebSocket,
            ws_per_message_deflate=False,
            ws_max_size=MAX_MESSAGE_BYTES,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = uvicorn.Server(config)

    async def serve(self, listening: socket.socket) -> None:
        """Serve until SIGTERM, SIGINT or `stop`."""
        # uvicorn raises a caught signal again once it has shut down; this makes that second time harmless.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _ignore)
        await self._server.serve([listening])

    def stop(self) -> None:
        """End `serve` within a tenth of a second (it looks that often). Safe from any thread."""
        self._server.should_exit = True


def command_line(program: str, description: str) -> argparse.ArgumentParser:
    """Return the options of every such server."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--exit-with-parent", action="store_true", help="end when standard input is closed")
    parser.add_argument(
        "--require-key", default=os.environ.get("OFFLINE_REQUIRE_KEY"), help="accept this API key only (for tests)"
    )
    return parser


async def run(app: Starlette, options: argparse.Namespace) -> None:
    """Listen as the command line says (`host`, `port`), announce where, and serve until the end.

    The announcement is one JSON line on standard output. `exit_with_parent` ends it when standard input closes, too.
    """
    listening = listen(options.host, options.port)
    server = UvicornServer(app)
    if options.exit_with_parent:
        parent.when_gone(server.stop)
    host = f"[{options.host}]" if ":" in options.host else options.host
    sys.stdout.write(json.dumps({"listening": f"http://{host}:{listening.getsockname()[1]}"}) + "\n")
    sys.stdout.flush()
    await server.serve(listening)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    return None
