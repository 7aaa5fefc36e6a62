"""The HTTP surface of a server that plays the Realtime API: `/v1/realtime`, `/v1/chat/completions`, `/v1/models`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from backend.responders.serving.shell import Connection

MODEL = "local-responder"
"""The name of this server wherever a model's name is shown."""
MAX_CHAT_BYTES = 4 * 1024 * 1024


class Service(ABC):
    """The base of the services behind the routes."""

    def __init__(self, required_key: str | None = None) -> None:
        """Without a `required_key` any key is accepted, and none is needed."""
        self.open = 0
        """The number of connections that are open now."""
        self._required_key = required_key

    @abstractmethod
    def connect(self, socket: WebSocket) -> Connection:
        """Return the conversation of a connection that was accepted."""

    @abstractmethod
    async def complete(self, body: bytes) -> Response:
        """Answer one chat completion, streamed or whole."""

    @property
    def details(self) -> Mapping[str, Any]:
        """Return what `GET /v1/models` shows beside the model's name."""
        return {}

    def refusal(self, connection: HTTPConnection) -> Response | None:
        """Return the HTTP answer that refuses a handshake; None if it is accepted."""
        return self.wrong_key(connection)

    def wrong_key(self, connection: HTTPConnection) -> Response | None:
        """Return the answer to a request without the required key; None if the key is right."""
        if self._required_key is None or connection.headers.get("authorization") == f"Bearer {self._required_key}":
            return None
        return failure(401, "Incorrect API key provided.", "invalid_request_error", code="invalid_api_key")


def create_app(service: Service, more: Sequence[BaseRoute] = ()) -> Starlette:
    """Return the ASGI application; `more` are further routes."""
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
    """Serve one Realtime connection."""
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
    """Answer one chat completion."""
    service: Service = request.app.state.service
    if (refusal := service.wrong_key(request)) is not None:
        return refusal
    body = await request.body()
    if len(body) > MAX_CHAT_BYTES:
        return failure(413, "The request is too large.", "invalid_request_error")
    return await service.complete(body)


async def models(request: Request) -> Response:
    """List the one model there is."""
    service: Service = request.app.state.service
    if (refusal := service.wrong_key(request)) is not None:
        return refusal
    entry = {"id": MODEL, "object": "model", "created": 0, "owned_by": "responder-thinker", **service.details}
    return JSONResponse({"object": "list", "data": [entry]})


def failure(status: int, message: str, kind: str, code: str | None = None) -> Response:
    """Return an error in the API's words."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(body, status_code=status)
