"""The HTTP surface: `/v1/realtime`, `/v1/chat/completions`, `/v1/models`, and `/debug` for tests."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from demo.offline.brain import Brain
from demo.offline.chat.completions import complete
from demo.offline.realtime.core import Knobs, Realtime
from demo.offline.realtime.shell import Connection
from demo.offline.record import ConnectionRecord, Records
from demo.offline.script.brain import ScriptedBrain
from demo.offline.script.schema import ChatReply, ConnectionScript, Script, ScriptError, parse
from demo.offline.server import ABORT

MODEL = "offline-demonstration"
"""What the server calls itself wherever a model's name is shown."""
MAX_SCRIPT_BYTES = 1024 * 1024
MAX_CHAT_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class Demonstration:
    """What the routes share."""

    demonstration: Callable[[], Brain]
    """Makes the brain of an unscripted connection."""
    speak: Callable[[str], bytes]
    """Words to 24 kHz mono PCM16."""
    script: Script | None = None
    required_key: str | None = None
    """The only bearer key accepted; None accepts any, and none."""
    records: Records = field(default_factory=Records)
    handshakes: int = 0
    """Since the script was set."""
    accepted: int = 0
    """Since the script was set."""

    chats: int = 0
    """Chat completions since the script was set."""

    def next_chat_reply(self) -> ChatReply | None:
        """The script's next chat answer; None when the demonstration answers."""
        replies = self.script.chat if self.script else None
        if not replies:
            return None
        self.chats += 1
        return replies[min(self.chats, len(replies)) - 1]

    def take_script(self, script: Script | None) -> None:
        """Follow another script from the next connection on, with an empty log."""
        self.script, self.handshakes, self.accepted, self.chats = script, 0, 0, 0
        self.records.clear()


def create_app(served: Demonstration) -> Starlette:
    """The ASGI application."""
    app = Starlette(
        routes=[
            WebSocketRoute("/v1/realtime", realtime),
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/models", models),
            Route("/debug/connections", debug_connections),
            Route("/debug/script", debug_script, methods=["POST"]),
        ],
    )
    app.state.served = served
    return app


async def realtime(socket: WebSocket) -> None:
    """One Realtime connection."""
    served: Demonstration = socket.app.state.served
    refusal = _refusal(served, socket)
    if refusal is not None:
        served.records.refused += 1
        await socket.send_denial_response(refusal)
        return
    served.accepted += 1
    record = served.records.open(dict(socket.query_params))
    await socket.accept()
    script = served.script and served.script.for_connection(served.accepted, socket.query_params.get("script"))
    core, brain = _make(served, script, record)
    await Connection(socket, core, brain, record, abort=socket.scope["extensions"][ABORT]).run()


async def chat_completions(request: Request) -> Response:
    """One chat completion, streamed or whole."""
    served: Demonstration = request.app.state.served
    if not _key_is_right(served, request):
        return _invalid_key()
    body = await request.body()
    if len(body) > MAX_CHAT_BYTES:
        return _error(413, "The request is too large.", "invalid_request_error")
    return await complete(body, MODEL, served.next_chat_reply())


async def models(request: Request) -> Response:
    """The one model there is."""
    served: Demonstration = request.app.state.served
    if not _key_is_right(served, request):
        return _invalid_key()
    entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "responder-thinker"}
    return JSONResponse({"object": "list", "data": [entry]})


async def debug_connections(request: Request) -> Response:
    """Everything that went over the wire; `?audio=1` adds the appended audio."""
    if not _is_local(request):
        return Response(status_code=404)
    served: Demonstration = request.app.state.served
    return JSONResponse(served.records.shown(with_audio=request.query_params.get("audio") == "1"))


async def debug_script(request: Request) -> Response:
    """Replace the script; an empty body goes back to the demonstration."""
    if not _is_local(request):
        return Response(status_code=404)
    body = await request.body()
    if len(body) > MAX_SCRIPT_BYTES:
        return JSONResponse({"error": "the script is over 1 MiB"}, status_code=413)
    try:
        script = parse(body) if body.strip() else None
    except ScriptError as error:
        return JSONResponse({"error": str(error)}, status_code=422)
    request.app.state.served.take_script(script)
    return JSONResponse({"ok": True})


def _make(served: Demonstration, script: ConnectionScript | None, record: ConnectionRecord) -> tuple[Realtime, Brain]:
    knobs = _knobs(script) if script else Knobs()
    core = Realtime(MODEL, connection=record.number, now=time.monotonic(), knobs=knobs)
    brain: Brain = ScriptedBrain(script, served.speak) if script else served.demonstration()
    return core, brain


def _knobs(script: ConnectionScript) -> Knobs:
    knobs = Knobs(refuse_replies=script.refuse_replies, empty_commits=script.empty_commits)
    if script.expires_after_ms is not None:
        knobs.expires_after_s = script.expires_after_ms / 1000
    return knobs


def _refusal(served: Demonstration, connection: HTTPConnection) -> Response | None:
    """Why a handshake is not accepted, as the HTTP answer; None if it is."""
    served.handshakes += 1
    if not _key_is_right(served, connection):
        return _invalid_key()
    if served.script and served.handshakes <= served.script.refuse_connections:
        return _error(served.script.refuse_status, "The server is overloaded (scripted).", "server_error")
    return None


def _key_is_right(served: Demonstration, connection: HTTPConnection) -> bool:
    if served.required_key is None:
        return True
    return connection.headers.get("authorization") == f"Bearer {served.required_key}"


def _invalid_key() -> Response:
    return _error(401, "Incorrect API key provided.", "invalid_request_error", code="invalid_api_key")


def _error(status: int, message: str, kind: str, code: str | None = None) -> Response:
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(body, status_code=status)


def _is_local(request: Request) -> bool:
    """The debug routes answer on loopback only."""
    if request.client is None:
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
