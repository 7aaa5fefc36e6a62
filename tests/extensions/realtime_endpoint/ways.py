"""The ways to call by the OpenAI Realtime protocol."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from backend.media.frame import FRAME_BYTES
from tests.support.every_way import Line, Way, cut, speaking
from tests.support.realtime_client import RealtimeClient, realtime_client
from tests.support.realtime_peer import realtime_peer


@asynccontextmanager
async def realtime_socket(url: str) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over a WebSocket."""
    async with realtime_client(url) as client:
        await client.event("session.created")
        async with speaking(client.append) as say:
            yield Line(say, lambda seen: _sent(client, seen))


def _sent(client: RealtimeClient, seen: int) -> list[bytes]:
    if sum(map(len, client.sound.values())) < (seen + 1) * FRAME_BYTES:
        return []
    return cut(b"".join(client.sound.values()), seen)


@asynccontextmanager
async def realtime_webrtc(url: str) -> AsyncIterator[Line]:
    """The OpenAI Realtime protocol over WebRTC."""
    async with realtime_peer(url) as peer:
        await peer.event("session.created")
        yield Line(peer.microphone.waits.extend, lambda seen: cut(peer.heard, seen))


WAYS: dict[str, Way] = {"/v1/realtime/calls, WebRTC": realtime_webrtc, "/v1/realtime, WebSocket": realtime_socket}
SETTINGS: dict[str, str] = {}
