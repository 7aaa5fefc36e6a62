"""A complete HTTP server on a real socket, over a registry with fake calls.

A fake call lasts until it is hung up or its line is closed, and keeps what was typed into it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect, WebSocketState
from websockets.asyncio.client import ClientConnection, connect

from backend.app.extensions import installed
from backend.chat.chat import Chat
from backend.chat.turn_claims import TurnClaims
from backend.http.app import build_app
from backend.http.services import PageConfig
from backend.media.frame import Frame
from backend.middleware.pipeline import NO_STEPS, Pipeline
from backend.models.base import ChatModel
from backend.models.embedding import Embedder, NoEmbeddings
from backend.observability.call_metrics import CallMetrics
from backend.sessions.handles import CallsHere, OpenLocator, SessionLocator
from backend.sessions.registry import SessionRegistry
from backend.sessions.session import Session
from backend.settings.settings import Settings, load_settings
from backend.storage.memory import Memory
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.service import TaskService
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.transport import FakeTransport
from backend.transports.base import OnFrame, Transport
from backend.turns.call_options import CallOptions
from backend.turns.commands import CancelReply, DeleteItem, TruncateItem
from backend.turns.events import Event
from tests.support.chats import chat_over
from tests.support.http_server import serve
from tests.support.services import services_of

Browser = httpx2.AsyncClient
"""A client of the server with a cookie jar of its own."""
SDP = "v=0\r\n"
FINGERPRINT = "ab" * 32


class Line(FakeTransport):
    """A transport without media; `gone` is set once it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = asyncio.Event()

    async def close(self) -> None:
        await super().close()
        self.gone.set()


class SocketLine(Line):
    """A line over a WebSocket that echoes bytes, and ends when the peer leaves."""

    def __init__(self, websocket: WebSocket) -> None:
        super().__init__()
        self._websocket = websocket
        self.receive_frames = self._echo

    async def _echo(self, on_frame: OnFrame) -> None:
        try:
            async for data in self._websocket.iter_bytes():
                await self._websocket.send_bytes(data)
                on_frame(Frame(data))
        except WebSocketDisconnect:
            return

    async def close(self) -> None:
        await super().close()
        if self._websocket.application_state is WebSocketState.CONNECTED:
            try:
                await self._websocket.close()
            except WebSocketDisconnect:
                return


class FakeCall:
    """A live call that keeps what it is asked."""

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.shown: list[str] = []
        self.cancelled: list[str] = []
        self.said: list[str] = []
        self.interruptions: list[bool] = []
        self.recorded: list[bool] = []
        self.hung_up: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def type_text(self, text: str, pictures: Sequence[str] = ()) -> None:
        self.typed.append(text)
        self.shown += pictures

    def cancel_thinker(self, call: str) -> None:
        self.cancelled.append(call)

    def say_answer(self, call: str) -> None:
        self.said.append(call)

    def allow_interruptions(self, allowed: bool) -> None:
        self.interruptions.append(allowed)

    def record(self, on: bool) -> str:
        self.recorded.append(on)
        return "r" * 16 if on else ""

    def choose(self, options: CallOptions) -> None: ...

    def submit(self, event: Event) -> None: ...

    def correct(self, command: TruncateItem | DeleteItem | CancelReply) -> None: ...

    def hang_up(self, reason: str) -> None:
        if not self.hung_up.done():
            self.hung_up.set_result(reason)


@dataclass
class World:
    """A running server, and what is behind it."""

    url: str
    settings: Settings
    registry: SessionRegistry
    memory: FakeMemory
    metrics: CallMetrics
    lines: list[Line]
    calls: dict[str, FakeCall]
    model: Any
    """The scripted model of the chat."""
    chat: Chat
    used_memory: Memory
    """The memory behind the routes, which a test may give."""
    services: Any = None
    now: list[float] = field(default_factory=lambda: [0.0])
    accepts: bool = True
    """Returns whether the server announces to other processes that it takes calls."""
    page_config: PageConfig = field(
        default_factory=lambda: PageConfig({"name": "fake", "model": "none", "offline": True}, {}, [], [], {})
    )

    @asynccontextmanager
    async def browser(self, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client with a cookie jar of its own."""
        async with httpx2.AsyncClient(
            base_url=self.url, timeout=20, trust_env=False, verify=False, **options
        ) as client:
            yield client

    async def socket(self, path: str, token: str = "", **options: Any) -> ClientConnection:
        """Open a WebSocket to `path`, with `token` as its first message."""
        url = self.url.replace("http", "ws", 1) + path
        websocket = await connect(url, proxy=None, compression=None, **options)
        if token:
            await websocket.send(json.dumps({"type": "token", "token": token}))
        return websocket


async def _run_call(calls: dict[str, FakeCall], session: Session, transport: Transport) -> str:
    call = calls[session.id] = FakeCall()
    session.call = call
    listening = asyncio.create_task(transport.receive_frames(lambda frame: None))
    listening.add_done_callback(lambda _: call.hang_up("disconnected"))
    try:
        return await call.hung_up
    finally:
        session.call = None
        listening.cancel()
        await asyncio.wait([listening])
        await transport.close()


async def _all_well() -> dict[str, str]:
    return {"memory": "ok", "responder": "ok"}


@asynccontextmanager
async def world(
    directory_of_files: Path,
    *,
    accept: Callable[[str], Awaitable[None]] | None = None,
    readiness: Callable[[], Awaitable[dict[str, str]]] = _all_well,
    heartbeat_s: float = 15,
    page: bool = True,
    server: dict[str, Any] | None = None,
    locate: OpenLocator | None = None,
    scenes: Sequence[Any] = (),
    pipeline: Pipeline = NO_STEPS,
    memory: Memory | None = None,
    claims: TurnClaims | None = None,
    embedder: Embedder | None = None,
    tasks: TaskService | None = None,
    model_calls: ModelCallLog | None = None,
    metered: Callable[[ChatModel], ChatModel] = lambda model: model,
    services_with: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """Run a server with `settings` (limits off unless given); `accept` may delay or refuse offers.

    `locate` also finds the sessions of other servers.
    """
    unlimited: dict[str, Any] = {
        "offers_per_minute": 0,
        "session_cap": 0,
        "budgets": {"live_calls": 0, "running_turns": 0, "open_streams": 0, "new_users_per_day": 0},
    }
    kept: dict[str, Any] = {"data_dir": directory_of_files, "secret_key": "k" * 32}
    here = settings_with(**unlimited | kept | settings)
    frontend = directory_of_files / "page"
    if page:
        frontend.mkdir(exist_ok=True)
        (frontend / "index.html").write_text("<!doctype html><title>A page</title>")
        (frontend / "app.js").write_text("export const one = 1;")
    calls: dict[str, FakeCall] = {}
    registry = SessionRegistry(lambda s, t: _run_call(calls, s, t), cap=here.limits.session_cap, responder="fake")
    own, model = FakeMemory(), ScriptedModel(*scenes)
    chat = chat_over(here, memory or own, metered(model), pipeline=pipeline, claims=claims)
    made = World("", here, registry, own, CallMetrics(["weather"]), [], calls, model, chat, memory or own)

    async def accept_offer(sdp: str) -> tuple[str, Transport]:
        made.lines.append(line := Line())
        if accept is not None:
            await accept(sdp)
        return f"answer to {sdp}", line

    calls_here = CallsHere(registry, accept_offer, lambda: (0.5, made.accepts), made.metrics)
    locating = locate(calls_here) if locate else nullcontext(SessionLocator(registry))
    locator = await locating.__aenter__()
    made.services = services = services_of(
        settings=here,
        registry=registry,
        sessions=locator,
        memory=memory or own,
        chat=made.chat,
        embedder=embedder or NoEmbeddings(),
        accept_offer=accept_offer,
        attach_socket=SocketLine,
        page_config=lambda: made.page_config,
        readiness=readiness,
        frontend=frontend,
        tasks=tasks,
        model_calls=model_calls,
        metrics=made.metrics,
        **{"user_data": {"memory": SimpleNamespace(export=made.memory.export_user, erase=made.memory.forget_user)}}
        | (services_with or {}),
    )
    app = build_app(services, installed().joined, heartbeat_s=heartbeat_s, now=lambda: made.now[0])
    async with serve(app, **server or {}) as made.url:
        try:
            yield made
        finally:
            await registry.close()
            await chat.close()
            await locating.__aexit__(None, None, None)


def settings_with(**values: Any) -> Settings:
    """Return settings of these values and the defaults, without a `.env` file."""
    return load_settings(_env_file=None, **values)


async def place_call(browser: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    """Send an offer that must succeed; return `{sdp, session_id, token}`."""
    response = await browser.post("/api/rtc/offer", json={"sdp": SDP} | body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def message_of(response: httpx2.Response) -> str:
    """Return the message of an error answer, which must have the one shape of errors."""
    body = response.json()
    assert set(body) == {"error"} and set(body["error"]) == {"message", "hint"}, body
    message: str = body["error"]["message"]
    return message
