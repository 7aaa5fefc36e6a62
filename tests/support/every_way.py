"""Every way to call a server, each as a line on which one speaks and listens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx2
from websockets.asyncio.client import connect

from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio, write_message
from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, SILENCE, Frame
from responder_thinker.caller import cut_frames
from responder_thinker.voice_call import Transport, VoiceCall, place_call
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.realtime_peer import RealtimePeer, realtime_peer, stock_peer
from tests.support.sip_phone import HERE, sip_phone
from tests.support.waiting import until

SLOT_S = 0.02
READY = '{"label":"rtvi-ai","type":"client-ready","id":"1","data":{"version":"1.0.0","about":{"library":"benchmark"}}}'


@dataclass(frozen=True, slots=True)
class Line:
    """A call that stands."""

    say: Callable[[bytes], object]
    """Speaks 24 kHz PCM16 in real time, from now on."""
    pieces: Callable[[int], Sequence[bytes]]
    """Given how many were seen before, the further pieces of 20 ms that were heard, as 24 kHz PCM16."""


Way = Callable[[str, int], AbstractAsyncContextManager[Line]]
"""The server's address and SIP's port → a call."""
AUDIBLE = 200
"""A sample (of 32,767) above which a piece is not silence."""


def is_loud(pcm: bytes) -> bool:
    """Return whether there is more than silence in it."""
    samples = memoryview(pcm).cast("h")
    return max(samples) > AUDIBLE or min(samples) < -AUDIBLE


def cut(heard: bytes | bytearray, seen: int) -> list[bytes]:
    """Return the whole pieces of `heard` beyond those that were seen."""
    return [
        bytes(heard[at : at + FRAME_BYTES])
        for at in range(seen * FRAME_BYTES, len(heard) - FRAME_BYTES + 1, FRAME_BYTES)
    ]


def page(transport: Transport) -> Way:
    """The page's own protocol."""

    @asynccontextmanager
    async def way(url: str, _: int) -> AsyncIterator[Line]:
        async with place_call(url, transport=transport) as call, saying(call.say) as say:
            yield Line(say, lambda seen: _frames(call, seen))

    return way


def _frames(call: VoiceCall, seen: int) -> list[bytes]:
    received = call.received.frames
    return [received[at].frame for at in range(seen, len(received))]


@asynccontextmanager
async def realtime_socket(url: str, _: int) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over a WebSocket."""
    async with realtime_client(url) as client:
        await client.told("session.created")
        async with speaking(client.append) as say:
            yield Line(say, lambda seen: _sent(client, seen))


def _sent(client: RealtimeClient, seen: int) -> list[bytes]:
    if sum(map(len, client.sound.values())) < (seen + 1) * FRAME_BYTES:
        return []
    return cut(b"".join(client.sound.values()), seen)


@asynccontextmanager
async def realtime_webrtc(url: str, _: int) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over WebRTC."""
    async with realtime_peer(url) as peer:
        await peer.told("session.created")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


@asynccontextmanager
async def rtvi_webrtc(url: str, _: int) -> AsyncIterator[Line]:
    """RTVI over WebRTC."""

    async def answer(_: RealtimePeer, sdp: str) -> str:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            answered = await http.post("/api/rtvi/offer", json={"sdp": sdp, "type": "offer"})
        return str(answered.raise_for_status().json()["sdp"])

    async with stock_peer("chat", answer) as peer:
        await until(lambda: peer.channel.readyState == "open")
        peer.channel.send(READY)
        await peer.told("bot-ready")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


@asynccontextmanager
async def rtvi_socket(url: str, _: int) -> AsyncIterator[Line]:
    """RTVI over a WebSocket."""
    heard: list[bytes] = []
    ready = asyncio.Event()
    async with connect(f"{url.replace('http', 'ws', 1)}/api/rtvi", proxy=None, compression=None) as client:

        async def listen() -> None:
            async for message in client:
                frame = read_frame(bytes(message, "utf-8") if isinstance(message, str) else message)
                if isinstance(frame, AudioFrame):
                    heard.append(frame.pcm)
                elif frame is not None and b'"bot-ready"' in frame.text:
                    ready.set()

        listening = asyncio.create_task(listen())
        await client.send(write_message(READY.encode()))
        await ready.wait()
        async with speaking(lambda frame: client.send(write_audio(frame, SAMPLE_RATE))) as say:
            yield Line(say, lambda seen: heard[seen:])
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


@asynccontextmanager
async def sip(_: str, port: int) -> AsyncIterator[Line]:
    """A telephone by SIP: G.711."""
    async with sip_phone((HERE, port), number=f"+1555{time.monotonic_ns() % 10_000_000:07}") as telephone:
        status = await telephone.call()
        assert status == 200, f"The call was answered with {status}."
        yield Line(telephone.say, lambda seen: telephone.heard[seen:])


@asynccontextmanager
async def saying(speak: Callable[[bytes], Coroutine[Any, Any, None]]) -> AsyncIterator[Callable[[bytes], object]]:
    """Speak in the background; what is being said at the end is said first."""
    tasks: set[asyncio.Task[None]] = set()
    yield lambda pcm: tasks.add(asyncio.create_task(speak(pcm)))
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def speaking(send: Callable[[bytes], Awaitable[object]]) -> AsyncIterator[Callable[[bytes], object]]:
    """A microphone that sends a frame every 20 ms, silence included."""
    waiting: list[Frame] = []

    async def run() -> None:
        due = time.monotonic()
        while True:
            await send(waiting.pop(0) if waiting else SILENCE)
            due = max(due + SLOT_S, time.monotonic() - 5 * SLOT_S)  # who was held up does not send it all at once
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    task = asyncio.create_task(run())
    try:
        yield lambda pcm: waiting.extend(cut_frames(pcm))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


WAYS: dict[str, Way] = {
    "page, WebRTC": page("webrtc"),
    "page, WebSocket": page("ws"),
    "/v1/realtime/calls, WebRTC": realtime_webrtc,
    "/v1/realtime, WebSocket": realtime_socket,
    "RTVI, WebRTC": rtvi_webrtc,
    "RTVI, WebSocket": rtvi_socket,
    "telephone, SIP": sip,
}
