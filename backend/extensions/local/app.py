"""The HTTP surface: `/v1/realtime`, `/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from backend.extensions.local.chat.completions import complete
from backend.extensions.local.realtime.core import Realtime
from backend.extensions.local.realtime.handler import Handler
from backend.extensions.local.realtime.shell import Connection
from backend.extensions.local.realtime.wire_log import NoLog
from backend.extensions.local.server import ABORT

if TYPE_CHECKING:
    from backend.extensions.local.dialogue.chat_model import ChatModelDialogue

MODEL = "local-responder"
"""What the server calls itself wherever a model's name is shown."""
RETRY_S = 15
"""Seconds after which a caller who found no room may try again."""


@dataclass(frozen=True, slots=True)
class About:
    """What a client may know of the service: `GET /v1/models` shows it with the model."""

    recognition: str = ""
    voice: str = ""
    dialogue: str = ""
    calls: int = 0
    """Connections served at once; 0: any number."""
    loading: list[str] = field(default_factory=list)
    """What is still being loaded: a call that needs it waits."""


MAX_CHAT_BYTES = 4 * 1024 * 1024


class Service:
    """What the routes do. The scripted peer of the tests overrides `refusal`, `connect` and `complete`."""

    def __init__(
        self,
        new_handler: Callable[[], Handler],
        required_key: str | None = None,
        model: ChatModelDialogue | None = None,
        about: Callable[[], About] = About,
    ) -> None:
        """`new_handler` makes the handler of one connection; no `required_key` accepts any key, and none.

        Chat completions are passed on to the `model`; without one, tools are called that fit.
        """
        self._about = about
        self.open = 0
        """Connections now."""
        self._model = model
        self.new_handler = new_handler
        self._required_key = required_key
        self._connections = 0

    @property
    def about(self) -> About:
        """What a client may know, as it is now."""
        return self._about()

    def refusal(self, connection: HTTPConnection) -> Response | None:
        """Why a handshake is not accepted, as the HTTP answer; None if it is."""
        if (refusal := self.wrong_key(connection)) is not None:
            return refusal
        most = self.about.calls
        if most and self.open >= most:
            message = f"This server has {self.open} calls, as many as LOCAL_CALLS lets it serve. Try again shortly."
            refusal = failure(503, message, "server_error", code="too_many_calls")
            refusal.headers["Retry-After"] = str(RETRY_S)
        return refusal

    def wrong_key(self, connection: HTTPConnection) -> Response | None:
        """The answer to a request without the required key; None when it has it."""
        if self._required_key is None or connection.headers.get("authorization") == f"Bearer {self._required_key}":
            return None
        return failure(401, "Incorrect API key provided.", "invalid_request_error", code="invalid_api_key")

    def connect(self, socket: WebSocket) -> Connection:
        """The conversation of a connection that was accepted."""
        self._connections += 1
        core = Realtime(MODEL, connection=self._connections, now=time.monotonic())
        return Connection(socket, core, self.new_handler(), NoLog(), abort=socket.scope["extensions"][ABORT])

    async def complete(self, body: bytes) -> Response:
        """One chat completion, streamed or whole."""
        if self._model is None:
            return await complete(body, MODEL)
        from backend.extensions.local.chat.forward import (
            forward,  # its client takes a second to import: only with a model
        )

        return await forward(body, self._model)


def create_app(service: Service, more: Sequence[BaseRoute] = ()) -> Starlette:
    """The ASGI application; `more` are further routes."""
    app = Starlette(
        routes=[
            WebSocketRoute("/v1/realtime", realtime),
            Route("/v1/chat/completions", chat_completions, methods=["POST"]),
            Route("/v1/models", models),
            *more,
        ],
    )
    app.state.service = service
    return app


async def realtime(socket: WebSocket) -> None:
    """One Realtime connection."""
    service: Service = socket.app.state.service
    refusal = service.refusal(socket)
    if refusal is not None:
        await socket.send_denial_response(refusal)
        return
    service.open += 1
    try:
        await socket.accept()
        await service.connect(socket).run()
    finally:
        service.open -= 1


async def chat_completions(request: Request) -> Response:
    """One chat completion, streamed or whole."""
    service: Service = request.app.state.service
    if (refusal := service.wrong_key(request)) is not None:
        return refusal
    body = await request.body()
    if len(body) > MAX_CHAT_BYTES:
        return failure(413, "The request is too large.", "invalid_request_error")
    return await service.complete(body)


async def models(request: Request) -> Response:
    """The one model there is, with what it is made of (see `About`)."""
    service: Service = request.app.state.service
    if (refusal := service.wrong_key(request)) is not None:
        return refusal
    entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "responder-thinker", **asdict(service.about)}
    return JSONResponse({"object": "list", "data": [entry]})


def failure(status: int, message: str, kind: str, code: str | None = None) -> Response:
    """An error as the API words it."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(body, status_code=status)
