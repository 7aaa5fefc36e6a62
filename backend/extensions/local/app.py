"""The local Responder as a service: one voice session for each connection, as many as the machine can serve."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.websockets import WebSocket

from backend.extensions.local.dialogue import without_model
from backend.extensions.local.dialogue.calls import Thought
from backend.extensions.local.engines import Engines
from backend.extensions.local.voice_session import VoiceSession
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.wire_log import WireLog
from backend.responders.serving.completions import complete
from backend.responders.serving.server import ABORT
from backend.responders.serving.service import MODEL, Service, failure
from backend.responders.serving.shell import Connection

RETRY_S = 15
"""Seconds after which a refused caller may try again."""


class LocalService(Service):
    """The local Responder."""

    def __init__(self, engines: Engines, calls: int, required_key: str | None) -> None:
        """Serve up to `calls` calls at the same time; `required_key` is the key that clients must send, if any."""
        super().__init__(required_key)
        self._engines = engines
        self._calls = calls

    @property
    def details(self) -> Mapping[str, Any]:
        return {**self._engines.about, "calls": self._calls}

    def refusal(self, connection: HTTPConnection) -> Response | None:
        """Return the refusal of a wrong key, or of a call beyond the limit; None otherwise."""
        if (refusal := self.wrong_key(connection)) is not None:
            return refusal
        if self.open >= self._calls:
            message = f"This server has {self.open} calls, as many as LOCAL_CALLS lets it serve. Try again shortly."
            refusal = failure(503, message, "server_error", code="too_many_calls")
            refusal.headers["Retry-After"] = str(RETRY_S)
        return refusal

    def connect(self, socket: WebSocket) -> Connection:
        core = Realtime(MODEL)
        return Connection(socket, core, VoiceSession(self._engines), WireLog(), abort=socket.scope["extensions"][ABORT])

    async def complete(self, body: bytes) -> Response:
        return await complete(body, MODEL, answered)


def answered(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tool_choice: Any) -> Thought:
    """Return the answer to a chat completion without a model."""
    return without_model.complete(messages, tools if tool_choice != "none" else [], datetime.now())
