"""Calls by aiortc as it comes: `python -m benchmarks.stock_server`, started by `benchmarks.stock`.

What everybody's first voice server does: take the caller's frames from its track, and play a reply through another
track. Nobody listens, thinks or answers: half the time a voice is played, whoever speaks. It speaks just enough of the
real server's HTTP that the same callers can place calls. Prints its address, and ends when its starter does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from fractions import Fraction
from itertools import cycle

import numpy as np
import uvicorn
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from backend.runtime import parent
from benchmarks import speech

RATE = 48_000
SAMPLES = RATE // 50
TICKET = {"session_id": "stock", "token": "stock"}


class Reply(MediaStreamTrack):
    """A sentence, as long a silence, and so on: 20 ms frames, each when it is due."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        voice = np.frombuffer(speech.questions()[0], "<i2").repeat(2)
        voice = np.concatenate((voice, np.zeros(-len(voice) % SAMPLES, voice.dtype)))
        self._pieces = cycle([*voice.reshape(-1, SAMPLES), *np.zeros_like(voice).reshape(-1, SAMPLES)])
        self._began = time.monotonic()
        self._count = 0

    async def recv(self) -> AudioFrame:
        """The next."""
        await asyncio.sleep(self._began + self._count * SAMPLES / RATE - time.monotonic())
        frame = AudioFrame.from_ndarray(next(self._pieces).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base = RATE, Fraction(1, RATE)
        frame.pts = self._count * SAMPLES
        self._count += 1
        return frame


class Calls:
    """All of them, until the process ends."""

    def __init__(self) -> None:
        self._peers: set[RTCPeerConnection] = set()
        self._listening: set[asyncio.Task[None]] = set()

    def app(self) -> Starlette:
        """What the callers ask for."""
        return Starlette(
            routes=[
                Route("/api/rtc/offer", self._offer, methods=["POST"]),
                Route("/api/events/{id}", self._events),
            ]
        )

    async def _offer(self, request: Request) -> Response:
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._peers.add(peer)
        peer.on("track", self._listen)
        await peer.setRemoteDescription(RTCSessionDescription((await request.json())["sdp"], "offer"))
        peer.addTrack(Reply())
        await peer.setLocalDescription(await peer.createAnswer())
        return JSONResponse({"sdp": peer.localDescription.sdp, **TICKET})

    async def _events(self, _: Request) -> Response:
        return StreamingResponse(_began(), media_type="text/event-stream")

    def _listen(self, track: MediaStreamTrack) -> None:
        task = asyncio.create_task(_take(track))
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)


async def _take(track: MediaStreamTrack) -> None:
    while True:
        try:
            await track.recv()
        except MediaStreamError:
            return


async def _began() -> AsyncIterator[str]:
    yield "event: session_started\ndata: {}\n\n"
    await asyncio.Event().wait()


def main() -> None:
    """Serve."""
    parent.when_gone(lambda: None)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        print(json.dumps({"listening": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
        config = uvicorn.Config(Calls().app(), loop="uvloop", log_level="error", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
