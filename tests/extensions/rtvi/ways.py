"""The ways to call by RTVI."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from websockets.asyncio.client import connect

from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio, write_message
from backend.media.frame import SAMPLE_RATE
from tests.support.every_way import Line, Way, cut, speaking
from tests.support.realtime_peer import RealtimePeer, stock_peer
from tests.support.waiting import until

READY = '{"label":"rtvi-ai","type":"client-ready","id":"1","data":{"version":"1.0.0","about":{"library":"benchmark"}}}'


@asynccontextmanager
async def rtvi_webrtc(url: str) -> AsyncIterator[Line]:
    """RTVI over WebRTC."""

    async def answer(_: RealtimePeer, sdp: str) -> str:
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            answered = await http.post("/api/rtvi/offer", json={"sdp": sdp, "type": "offer"})
        return str(answered.raise_for_status().json()["sdp"])

    async with stock_peer("chat", answer) as peer:
        await until(lambda: peer.channel.readyState == "open")
        peer.channel.send(READY)
        await peer.event("bot-ready")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


@asynccontextmanager
async def rtvi_socket(url: str) -> AsyncIterator[Line]:
    """RTVI over a WebSocket."""
    heard: list[bytes] = []
    ready = asyncio.Event()
    async with connect(f"{url.replace('http', 'ws', 1)}/api/rtvi", proxy=None, compression=None) as client:

        async def listen() -> None:
            async for message in client:
                frame = read_frame(bytes(message, "utf-8") if isinstance(message, str) else message)
                if isinstance(frame, AudioFrame):
                    heard.append(frame.pcm)
                elif frame is not None and b'"bot-ready"' in frame:
                    ready.set()

        listening = asyncio.create_task(listen())
        await client.send(write_message(READY.encode()))
        await ready.wait()
        async with speaking(lambda frame: client.send(write_audio(frame, SAMPLE_RATE))) as say:
            yield Line(say, lambda seen: heard[seen:])
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


WAYS: dict[str, Way] = {"RTVI, WebRTC": rtvi_webrtc, "RTVI, WebSocket": rtvi_socket}
SETTINGS: dict[str, str] = {}
