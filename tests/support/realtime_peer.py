"""A client of the Realtime protocol over WebRTC for tests: stock aiortc, with a microphone, a channel, a recorder."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from fractions import Fraction
from typing import Any

import httpx2
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

from tests.support.realtime_client import Json, RealtimeClient
from tests.support.waiting import until

CHANNEL = "oai-events"
CALLS = "/v1/realtime/calls"
STEP = 480
"""Samples in 20 ms."""


class Microphone(MediaStreamTrack):
    """Sends the PCM16 (24 kHz) in `waits`, then silence, in real time."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.waits = bytearray()
        self._began = 0.0
        self._count = 0

    async def recv(self) -> AudioFrame:
        self._began = self._began or time.monotonic()
        await asyncio.sleep(max(0.0, self._began + self._count * 0.02 - time.monotonic()))
        piece = bytes(self.waits[: 2 * STEP]).ljust(2 * STEP, b"\0")
        del self.waits[: 2 * STEP]
        frame = AudioFrame.from_ndarray(np.frombuffer(piece, np.int16).reshape(1, -1), "s16", "mono")
        frame.sample_rate, frame.pts, frame.time_base = 24_000, self._count * STEP, Fraction(1, 24_000)
        self._count += 1
        return frame


class RealtimePeer(RealtimeClient):
    """One call: events come by the channel, audio as media."""

    def __init__(self, connection: RTCPeerConnection, channel: RTCDataChannel, microphone: Microphone) -> None:
        self.connection, self.channel, self.microphone = connection, channel, microphone
        self.events: list[Json] = []
        self.sound: dict[str, bytearray] = {}
        self.heard = bytearray()
        """The received audio, as 24 kHz PCM16."""
        self.first_sound_at = 0.0
        self.location = ""
        channel.on("message", self.collect)

    @property
    def call_id(self) -> str:
        """The id at the end of the answer's Location."""
        return self.location.rpartition("/")[2]

    def collect(self, text: str | bytes) -> None:
        """Take one event; events of another protocol are not checked."""
        if self.channel.label == CHANNEL:
            super().collect(text)
        else:
            self.events.append(json.loads(text))

    async def send(self, type_: str, **fields: Any) -> None:
        self.channel.send(json.dumps({"type": type_, **fields}))

    async def say(self, audio: bytes, **_: Any) -> None:
        """Speak, and wait for the end of it."""
        self.microphone.waits += audio
        await until(lambda: not self.microphone.waits, len(audio) / 48_000 + 5)

    async def listen(self, track: MediaStreamTrack) -> None:
        """Collect the received audio."""
        with suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                assert isinstance(frame, AudioFrame) and frame.sample_rate == 48_000
                samples = frame.to_ndarray().reshape(-1)[:: 2 * len(frame.layout.channels)]
                if not self.first_sound_at and np.abs(samples.astype(np.int32)).max() > 500:
                    self.first_sound_at = time.monotonic()
                self.heard += samples.tobytes()


Answer = Callable[[RealtimePeer, str], Awaitable[str]]
"""Posts an SDP offer, and returns the SDP answer."""


@asynccontextmanager
async def stock_peer(channel: str, answer: Answer) -> AsyncIterator[RealtimePeer]:
    """A connection with a microphone and a data channel of that name."""
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    microphone = Microphone()
    peer = RealtimePeer(connection, connection.createDataChannel(channel), microphone)
    connection.addTrack(microphone)
    listening: list[asyncio.Task[None]] = []
    connection.on("track", lambda track: listening.append(asyncio.create_task(peer.listen(track))))
    await connection.setLocalDescription(await connection.createOffer())
    try:
        sdp = await answer(peer, connection.localDescription.sdp)
        await connection.setRemoteDescription(RTCSessionDescription(sdp, "answer"))
        yield peer
    finally:
        await connection.close()
        for task in listening:
            await task


@asynccontextmanager
async def realtime_peer(
    url: str, *, key: str = "any-key", session: Json | None = None, client: httpx2.AsyncClient | None = None
) -> AsyncIterator[RealtimePeer]:
    """Place a call to a server at `url`: with a `session` as a form, otherwise with the offer only."""

    async def answer(peer: RealtimePeer, sdp: str) -> str:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as own:
            answered = await place(client or own, sdp, key, session)
        assert answered.status_code == 201, answered.text
        assert answered.headers["content-type"].startswith("application/sdp")
        peer.location = answered.headers["location"]
        return answered.text

    async with stock_peer(CHANNEL, answer) as peer:
        yield peer


async def place(client: httpx2.AsyncClient, sdp: str, key: str, session: Json | None = None) -> httpx2.Response:
    """POST an offer, and return the answer."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    if session is None:
        return await client.post(CALLS, content=sdp, headers=headers | {"content-type": "application/sdp"})
    files = {
        "sdp": (None, sdp.encode(), "application/sdp"),
        "session": (None, json.dumps(session).encode(), "application/json"),
    }
    return await client.post(CALLS, files=files, headers=headers)
