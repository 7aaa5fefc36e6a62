"""The ways to call a server. Each gives a call that a test speaks into and listens to."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from responder_thinker.caller import cut_frames
from responder_thinker.voice_call import Transport, VoiceCall, place_call

SLOT_S = 0.02


@dataclass(frozen=True, slots=True)
class Line:
    """An open call."""

    say: Callable[[bytes], object]
    """Speaks 24 kHz PCM16 in real time, from now on."""
    pieces: Callable[[int], Sequence[bytes]]
    """Takes the number of pieces already seen; returns later pieces of 20 ms, as 24 kHz PCM16."""


Way = Callable[[str], AbstractAsyncContextManager[Line]]
"""The server's address → a call."""
AUDIBLE = 200
"""A sample (of 32,767) above which a piece is not silence."""


def is_loud(pcm: bytes) -> bool:
    """Return whether the piece is louder than silence."""
    samples = memoryview(pcm).cast("h")
    return max(samples) > AUDIBLE or min(samples) < -AUDIBLE


def cut(heard: bytes | bytearray, seen: int) -> list[bytes]:
    """Return the whole pieces of `heard` after those that were seen."""
    return [
        bytes(heard[at : at + FRAME_BYTES])
        for at in range(seen * FRAME_BYTES, len(heard) - FRAME_BYTES + 1, FRAME_BYTES)
    ]


def page(transport: Transport) -> Way:
    """The page's own protocol."""

    @asynccontextmanager
    async def way(url: str) -> AsyncIterator[Line]:
        async with place_call(url, transport=transport) as call, saying(call.say) as say:
            yield Line(say, lambda seen: _frames(call, seen))

    return way


def _frames(call: VoiceCall, seen: int) -> list[bytes]:
    received = call.received.frames
    return [received[at].frame for at in range(seen, len(received))]


@asynccontextmanager
async def saying(speak: Callable[[bytes], Coroutine[Any, Any, None]]) -> AsyncIterator[Callable[[bytes], object]]:
    """Speak in the background; the last sentence is finished before the end."""
    tasks: set[asyncio.Task[None]] = set()
    try:
        yield lambda pcm: tasks.add(asyncio.create_task(speak(pcm)))
    finally:
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def speaking(send: Callable[[bytes], Awaitable[object]]) -> AsyncIterator[Callable[[bytes], object]]:
    """A microphone that sends a frame every 20 ms, silence included."""
    waiting: list[Frame] = []

    async def run() -> None:
        due = time.monotonic()
        while True:
            await send(waiting.pop(0) if waiting else SILENCE)
            due = max(due + SLOT_S, time.monotonic() - 5 * SLOT_S)  # after a delay, frames are not sent in one burst
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    task = asyncio.create_task(run())
    try:
        yield lambda pcm: waiting.extend(cut_frames(pcm))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


WAYS: dict[str, Way] = {"page, WebRTC": page("webrtc"), "page, WebSocket": page("ws")}
"""The ways of the core. Those of an extension are in the `ways.py` of its tests."""
