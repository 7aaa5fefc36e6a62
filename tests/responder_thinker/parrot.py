"""A whole server with a parrot that answers its calls: it listens to a question, then plays a tone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from backend.http.app import build_app
from backend.http.services import PageConfig
from backend.media.frame import Frame
from backend.models.embedding import NoEmbeddings
from backend.sessions.event_log import PageMessage
from backend.sessions.handles import SessionLocator
from backend.sessions.registry import SessionRegistry
from backend.sessions.session import Session
from backend.settings.settings import load_settings
from backend.testing.memory import FakeMemory
from backend.transports.base import Transport
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.transport import accept_offer
from backend.transports.websocket import WebSocketTransport
from tests.support.chats import chat_over
from tests.support.http_server import serve
from tests.support.services import services_of
from tests.support.tones import audible, tone

ANSWER_HZ = 900
ANSWER_MS = 500
QUESTION_ENDS_AFTER = 40
"""Silent frames after the question."""

RunCall = Callable[[Session, Transport], Awaitable[str]]


async def parrot(session: Session, transport: Transport) -> str:
    """Answer one question, with a Thinker on the way; then listen until the caller leaves."""
    session.event_log.append(PageMessage("session_started", {"responder": "parrot", "model": "p-1", "offline": True}))
    spoken = silent = 0

    def ear(frame: Frame) -> None:
        nonlocal spoken, silent
        spoken, silent = (spoken + 1, 0) if audible(frame) else (spoken, silent + 1)
        if spoken >= 5 and silent == QUESTION_ENDS_AFTER:
            answer(session, transport)

    await transport.receive_frames(ear)
    return "disconnected"


def answer(session: Session, transport: Transport) -> None:
    """Send and play everything a real answer has."""
    thinker = {"call_id": "c1", "domain": "weather", "label": "Weather", "query": "rain?", "elapsed_ms": 40}

    def publish(type_: str, data: dict[str, Any]) -> None:
        session.event_log.append(PageMessage(type_, data))

    publish("transcript", {"role": "user", "item_id": "u1", "content": "Will it [bold]rain?"})
    publish("thinker", thinker | {"event": "routed"})
    publish("thinker", thinker | {"event": "complete", "source": "sample"})
    transport.play("a1", tone(ANSWER_HZ, ANSWER_MS))
    publish("transcript", {"role": "assistant", "item_id": "a1", "content": "It will."})
    publish("turn_metrics", {"turn": 1, "first_sound_ms": 421})
    publish("answer_metrics", {"turn": 1, "answer_ms": 1615})


async def mute(session: Session, transport: Transport) -> str:
    """Listen and say nothing."""
    await transport.receive_frames(lambda frame: None)
    return "disconnected"


async def impatient(session: Session, transport: Transport) -> str:
    """Hang up soon."""
    await asyncio.sleep(0.3)
    return "idle"


@asynccontextmanager
async def parrot_server(folder: Path, run_call: RunCall = parrot, cap: int = 0) -> AsyncIterator[str]:
    """The server's address."""

    async def run(session: Session, transport: Transport) -> str:
        try:
            return await run_call(session, transport)
        finally:
            await transport.close()

    registry = SessionRegistry(run, cap=cap, responder="parrot")
    options: dict[str, Any] = {"_env_file": None, "data_dir": folder, "offers_per_minute": 0, "session_cap": cap}
    settings, memory = load_settings(**options), FakeMemory()
    services = services_of(
        settings=settings,
        chat=chat_over(settings, memory),
        embedder=NoEmbeddings(),
        registry=registry,
        sessions=SessionLocator(registry),
        memory=memory,
        accept_offer=partial(accept_offer, config=IceConfig()),
        attach_socket=WebSocketTransport,
        page_config=lambda: PageConfig({}, {}, [], [], {}),
        readiness=all_well,
        user_data={},
        frontend=folder / "none",
    )
    async with serve(build_app(services)) as url:
        try:
            yield url
        finally:
            await registry.close()


async def all_well() -> dict[str, str]:
    """Every check passes."""
    return {}
