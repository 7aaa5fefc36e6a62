"""Calls for tests: a transport with a real caller (or a fake one) at its other end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from backend.media.frame import FRAME_MS, Frame
from backend.testing.transport import FakeTransport
from backend.transports.base import Transport
from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from backend.transports.websocket import WebSocketTransport
from responder_thinker.caller import cut_frames
from responder_thinker.webrtc import WebRTCCaller
from responder_thinker.websocket import WebSocketCaller
from tests.support.http_server import serve
from tests.support.tones import audible
from tests.support.waiting import until

T = TypeVar("T", bound=Transport)


class Rig(Protocol):
    """One call: the transport under test, and the controls at the other end."""

    exact: bool
    """Whether the caller hears exactly the samples that were played (no codec in between)."""

    slack_ms: int
    """Milliseconds by which the heard audio may exceed the transport's figure."""

    @property
    def transport(self) -> Transport:
        """The transport under test."""
        ...

    async def say(self, pcm: bytes) -> None:
        """Let the caller speak, and wait for the end of it."""
        ...

    async def pass_time(self, ms: int) -> None:
        """Let the call go on for so many milliseconds."""
        ...

    def heard(self) -> list[Frame]:
        """The audible frames the caller has heard."""
        ...

    async def hang_up(self) -> None:
        """Let the caller hang up."""
        ...


OpenRig = Callable[[], AbstractAsyncContextManager[Rig]]


class FakeRig:
    """The test moves the time."""

    exact = True
    slack_ms = 0

    def __init__(self) -> None:
        self.transport = FakeTransport()

    async def say(self, pcm: bytes) -> None:
        self.transport.feed(*cut_frames(pcm))

    async def pass_time(self, ms: int) -> None:
        self.transport.tick(ms // FRAME_MS)
        await asyncio.sleep(0)

    def heard(self) -> list[Frame]:
        return [frame for frame in self.transport.played if audible(frame)]

    async def hang_up(self) -> None:
        self.transport.finish()


class WireRig:
    """The time is real."""

    slack_ms = FRAME_MS

    def __init__(
        self, transport: WebRTCTransport | WebSocketTransport, caller: WebRTCCaller | WebSocketCaller, exact: bool
    ) -> None:
        self.transport = transport
        self.caller = caller
        self.exact = exact

    async def say(self, pcm: bytes) -> None:
        self.caller.say(pcm)
        await self.caller.said()
        await asyncio.sleep(0.1)

    async def pass_time(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)

    def heard(self) -> list[Frame]:
        return [heard.frame for heard in self.caller.received.frames if audible(heard.frame)]

    async def hang_up(self) -> None:
        await self.caller.close()


@asynccontextmanager
async def fake_rig() -> AsyncIterator[Rig]:
    """A call without a network."""
    yield FakeRig()


@asynccontextmanager
async def webrtc_rig() -> AsyncIterator[Rig]:
    """A call between two real peers on this machine."""
    async with webrtc_call() as (transport, caller):
        yield WireRig(transport, caller, exact=False)


@asynccontextmanager
async def webrtc_call(
    wire: IceConfig | None = None, caller: WebRTCCaller | None = None
) -> AsyncIterator[tuple[WebRTCTransport, WebRTCCaller]]:
    """A connected call; both ends are closed at the end."""
    caller = caller or WebRTCCaller()
    try:
        answer, transport = await accept_offer(await caller.offer(), wire or IceConfig())
        try:
            await caller.accept(answer)
            await caller.connected()
            await until(lambda: transport._receiving is not None and transport._receiving._source is not None)
            yield transport, caller
        finally:
            await transport.close()
    finally:
        await caller.close()


@asynccontextmanager
async def websocket_rig() -> AsyncIterator[Rig]:
    """A call over a real WebSocket, uvicorn between."""
    async with websocket_call() as (transport, caller):
        yield WireRig(transport, caller, exact=True)


@asynccontextmanager
async def websocket_call() -> AsyncIterator[tuple[WebSocketTransport, WebSocketCaller]]:
    """A connected call; both ends are closed at the end."""

    async def made(websocket: WebSocket) -> WebSocketTransport:
        return WebSocketTransport(websocket)

    caller = WebSocketCaller()
    async with over_a_socket(made, caller.connect, caller.close) as transport:
        yield transport, caller


@asynccontextmanager
async def over_a_socket(
    make: Callable[[WebSocket], Awaitable[T]],
    connect: Callable[[str], Awaitable[object]],
    close: Callable[[], Awaitable[object]],
) -> AsyncIterator[T]:
    """The transport that `make` gives for the WebSocket that `connect` opens; both ends are closed at the end."""
    transports: asyncio.Queue[T] = asyncio.Queue()
    over = asyncio.Event()

    async def route(websocket: WebSocket) -> None:
        await websocket.accept()
        transports.put_nowait(await make(websocket))
        await over.wait()

    async with serve(Starlette(routes=[WebSocketRoute("/", route)]), lifespan="off") as url:
        try:
            await connect(url.replace("http", "ws"))
            transport = await transports.get()
            try:
                yield transport
            finally:
                await transport.close()
        finally:
            over.set()
            await close()


class Phone(Protocol):
    """The caller's end of a telephone call."""

    def say(self, pcm: bytes) -> None:
        """Speak 24 kHz PCM16 in real time."""

    async def said(self) -> None:
        """Wait until all of it is spoken."""

    def audible(self) -> list[Frame]:
        """Return the frames heard that are not silence."""
        ...

    async def hang_up(self) -> object:
        """Hang up."""


class PhoneRig:
    """A telephone call in real time."""

    exact = False
    slack_ms = 6 * FRAME_MS  # a mark goes out with every fifth frame, so the measured delay may be as old, and one more

    def __init__(self, transport: Transport, stream: Phone) -> None:
        self.transport = transport
        self.stream = stream

    async def say(self, pcm: bytes) -> None:
        self.stream.say(pcm)
        await self.stream.said()
        await asyncio.sleep(0.1)

    async def pass_time(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)

    def heard(self) -> list[Frame]:
        return self.stream.audible()

    async def hang_up(self) -> None:
        await self.stream.hang_up()
