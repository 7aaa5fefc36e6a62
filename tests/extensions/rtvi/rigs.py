"""Calls of an RTVI client over a real WebSocket, and the rig for the suite that every transport passes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect

from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio
from backend.extensions.rtvi.websocket import AHEAD_FRAMES, RtviSocket
from backend.media.frame import FRAME_MS, SAMPLE_RATE, Frame
from responder_thinker.caller import cut_frames
from tests.support.callers import Rig, over_a_socket
from tests.support.tones import audible


@asynccontextmanager
async def rtvi_call(ahead_frames: int = AHEAD_FRAMES) -> AsyncIterator[tuple[RtviSocket, ClientConnection]]:
    """A transport, and a bare client; both are closed at the end."""
    clients: list[ClientConnection] = []

    async def made(websocket: WebSocket) -> RtviSocket:
        return RtviSocket(websocket, ahead_frames=ahead_frames)

    async def dial(url: str) -> None:
        clients.append(await connect(url, proxy=None, compression=None))

    async def leave() -> None:
        await clients[0].close()

    async with over_a_socket(made, dial, leave) as transport:
        yield transport, clients[0]


class RtviRig:
    """A call with a client that plays all audio immediately, in real time."""

    exact = True
    slack_ms = FRAME_MS

    def __init__(self, transport: RtviSocket, client: ClientConnection) -> None:
        self.transport = transport
        self._client = client
        self._heard: list[Frame] = []

    async def say(self, pcm: bytes) -> None:
        for frame in cut_frames(pcm):
            await self._client.send(write_audio(frame, SAMPLE_RATE))
            await asyncio.sleep(FRAME_MS / 1000)
        await asyncio.sleep(0.1)

    async def pass_time(self, ms: int) -> None:
        await asyncio.sleep(ms / 1000)

    def heard(self) -> list[Frame]:
        return list(self._heard)

    async def hang_up(self) -> None:
        await self._client.close()

    async def listen(self) -> None:
        """Record audible frames, until the connection ends."""
        async for message in self._client:
            assert isinstance(message, bytes)
            frame = read_frame(message)
            if isinstance(frame, AudioFrame) and audible(played := Frame(frame.pcm)):
                self._heard.append(played)


@asynccontextmanager
async def rtvi_rig() -> AsyncIterator[Rig]:
    """A call of an RTVI client that buffers no sound, so that a command is heard immediately."""
    async with rtvi_call(ahead_frames=0) as (transport, client):
        rig = RtviRig(transport, client)
        listening = asyncio.create_task(rig.listen())
        try:
            yield rig
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening


RIGS = [rtvi_rig]
