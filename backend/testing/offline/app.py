"""The HTTP routes of the scripted peer: those of the API that it plays, and `/debug` for tests."""

import asyncio
import ipaddress

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from backend.realtime.serving.core import Realtime
from backend.responders.serving import service as serving
from backend.responders.serving.completions import complete
from backend.responders.serving.server import ABORT
from backend.responders.serving.shell import Connection
from backend.testing.offline.connection_log import ConnectionLogs
from backend.testing.offline.script.handler import ScriptedHandler
from backend.testing.offline.script.schema import ConnectionScript, Script, ScriptError, parse
from backend.testing.offline.unscripted import complete as complete_unscripted


class ScriptedPeer(serving.Service):
    """The scripted peer; without a script it hears and says nothing."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        required_key: str | None = None,
        conversation: type[Realtime] = Realtime,
    ) -> None:
        """`conversation` is the class of each connection's conversation."""
        super().__init__(required_key)
        self.logs = ConnectionLogs()
        self._conversation = conversation
        self._script = script
        self._accepted = self._chats = 0
        """The counts since the script was set."""

    def take_script(self, script: Script) -> None:
        """Follow another script from the next connection on, with an empty log."""
        self._script = script
        self._accepted = self._chats = 0
        self.logs.clear()

    def connect(self, socket: WebSocket) -> Connection:
        """Return a connection with its part of the script, and its record."""
        self._accepted += 1
        script = self._script and self._script.for_connection(self._accepted)
        record = self.logs.open()
        core = self._conversation(serving.MODEL)
        handler = ScriptedHandler(script or ConnectionScript())
        return Connection(socket, core, handler, record, abort=socket.scope["extensions"][ABORT])

    async def complete(self, body: bytes) -> Response:
        """Answer with the script's next reply; without a script, as an extension does."""
        replies = self._script.chat if self._script else None
        if not replies:
            return await complete_unscripted(body)
        self._chats += 1
        reply = replies[min(self._chats, len(replies)) - 1]
        await asyncio.sleep(reply.delay_ms / 1000)
        return await complete(body, serving.MODEL, lambda *_: reply)


def create_app(peer: ScriptedPeer) -> Starlette:
    """Return the ASGI application."""
    debug = [
        Route("/debug/connections", debug_connections),
        Route("/debug/script", debug_script, methods=["POST"]),
    ]
    azure = WebSocketRoute("/openai/v1/realtime", serving.realtime)
    return serving.create_app(peer, [*debug, azure])


async def debug_connections(request: Request) -> Response:
    """Return all messages of all connections."""
    if not _is_local(request):
        return Response(status_code=404)
    peer: ScriptedPeer = request.app.state.service
    return JSONResponse(peer.logs.shown())


async def debug_script(request: Request) -> Response:
    """Replace the script."""
    if not _is_local(request):
        return Response(status_code=404)
    try:
        script = parse(await request.body())
    except ScriptError as error:
        return JSONResponse({"error": str(error)}, status_code=422)
    peer: ScriptedPeer = request.app.state.service
    peer.take_script(script)
    return JSONResponse({"ok": True})


def _is_local(request: Request) -> bool:
    """Return whether the request comes from loopback: the debug routes answer no other."""
    if request.client is None:
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
