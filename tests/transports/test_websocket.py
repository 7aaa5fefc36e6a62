"""Calls over WebSocket: how they end, and the answer to a bad client. Sockets are real, except for a stalled send."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from backend.errors import MediaFailed, TransportLost
from backend.media.frame import SILENCE, Frame
from backend.transports.websocket import WebSocketTransport
from backend.turns.events import PlaybackEvent
from tests.support.callers import websocket_call
from tests.support.http_server import serve
from tests.support.leaks import holdings, released
from tests.support.tones import tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime


@asynccontextmanager
async def raw_call(**options: float) -> AsyncIterator[tuple[WebSocketTransport, ClientConnection]]:
    """A transport, and a bare client that has been sent `ready`."""
    transports: asyncio.Queue[WebSocketTransport] = asyncio.Queue()
    over = asyncio.Event()

    async def route(websocket: WebSocket) -> None:
        await websocket.accept()
        transports.put_nowait(WebSocketTransport(websocket, **options))
        await over.wait()

    async with (
        serve(Starlette(routes=[WebSocketRoute("/", route)]), lifespan="off") as url,
        connect(url.replace("http", "ws"), proxy=None, compression=None) as client,
    ):
        transport = await transports.get()
        assert json.loads(await client.recv()) == {"type": "ready"}
        try:
            yield transport, client
        finally:
            await transport.close()
            over.set()


async def read_all(transport: WebSocketTransport, within_s: float = 3.0) -> list[Frame]:
    frames: list[Frame] = []
    async with asyncio.timeout(within_s):
        await transport.receive_frames(frames.append)
    return frames


async def messages(client: ClientConnection) -> list[dict[str, Any]]:
    """All messages of the server until it closes."""
    said = []
    try:
        async with asyncio.timeout(15):
            while True:
                said.append(json.loads(await client.recv()))
    except ConnectionClosed:
        return said


async def test_pieces_of_any_length_become_frames_without_losing_a_byte() -> None:
    speech = tone(500, 1000)
    async with raw_call() as (transport, client):
        sizes = [1, 2, 959, 961, 3000, 7, 40_000]
        at = 0
        for size in sizes:
            piece = speech[at : at + size]
            at += size
            if size % 2:
                await client.send(piece)
            else:
                await client.send(json.dumps({"type": "audio", "pcm": base64.b64encode(piece).decode()}))
        await client.send(speech[at:])
        await client.send('{"type":"bye"}')
        heard = b"".join(frame for frame in await read_all(transport) if frame != SILENCE)
    assert heard == speech


async def test_ten_seconds_in_one_burst_are_all_taken() -> None:
    """A client may send faster than real time: TCP makes it wait, nothing is dropped."""
    async with raw_call() as (transport, client):
        reader = asyncio.create_task(read_all(transport, within_s=10))
        for second in range(10):
            await client.send(tone(300 + 100 * second, 1000))
        await client.send('{"type":"bye"}')
        frames = [frame for frame in await reader if frame != SILENCE]
        assert len(frames) == 500


async def test_silence_fills_in_for_a_client_that_sends_nothing() -> None:
    async with raw_call() as (transport, _):
        begun = asyncio.get_running_loop().time()
        reader = asyncio.create_task(read_all(transport))
        await asyncio.sleep(0.6)
        elapsed = asyncio.get_running_loop().time() - begun
        await transport.close()
        frames = await reader
        assert len(frames) == pytest.approx(elapsed / 0.02, abs=15)
        assert set(frames) == {SILENCE}


async def test_replies_come_at_the_pace_of_speech_and_a_flush_is_reported() -> None:
    async with websocket_call() as (transport, caller):
        loop = asyncio.get_running_loop()
        begun = loop.time()
        transport.play("a", tone(500, 400))
        await until(lambda: len(caller.received.frames) == 20)
        assert loop.time() - begun > 0.36
        transport.play("b", tone(500, 5000))
        await until(lambda: len(caller.received.frames) > 22)
        assert [heard.item for heard in transport.flush()] == ["b"]
        await until(lambda: caller.flushes == 1)
        heard = len(caller.received.frames)
        await asyncio.sleep(0.1)
        assert len(caller.received.frames) <= heard + 1


async def test_close_says_bye() -> None:
    async with raw_call() as (transport, client):
        await transport.close()
        assert await messages(client) == [{"type": "bye", "reason": "ended"}]
        assert client.close_code == 1000


@pytest.mark.parametrize(
    ("garbage", "code"),
    [("hello", 1003), ('{"type":"audio","pcm":"%"}', 1003), (bytes(48_002), 1009), ("x" * 70_000, 1009)],
)
async def test_an_invalid_message_is_answered_with_an_error_and_ends_the_call(garbage: str | bytes, code: int) -> None:
    async with raw_call() as (transport, client):
        await client.send(garbage)
        assert await read_all(transport) in ([], [SILENCE] * 5)
        assert (await messages(client))[-1]["type"] == "bye"
        assert client.close_code == code
        assert client.close_reason


async def test_a_client_that_closes_in_order_has_hung_up() -> None:
    async with raw_call() as (transport, client):
        await client.close()
        await read_all(transport)


async def test_a_client_with_a_broken_connection_is_lost() -> None:
    async with raw_call() as (transport, client):
        client.transport.abort()
        with pytest.raises(TransportLost, match="broke"):
            await read_all(transport)


async def test_a_client_without_any_message_is_lost() -> None:
    async with raw_call(lost_after_s=0.3) as (transport, _):
        with pytest.raises(TransportLost, match="sends nothing more"):
            await read_all(transport)


async def test_pings_keep_a_silent_client() -> None:
    async with raw_call(lost_after_s=2.0) as (transport, client):
        reader = asyncio.create_task(read_all(transport))
        for _ in range(4):
            await asyncio.sleep(0.6)
            await client.send('{"type":"ping"}')
        assert not reader.done()
        await transport.close()
        await reader


async def test_a_client_that_takes_nothing_is_lost() -> None:
    socket = StuckSocket()
    transport = WebSocketTransport(cast(WebSocket, socket), send_within_s=0.2)
    transport.play("a", tone(500, 1000))
    with pytest.raises(TransportLost, match="too slow"):
        await read_all(transport)
    await transport.close()
    assert not socket.closed, "no goodbye can reach it"


async def test_a_mistake_in_the_outgoing_audio_ends_the_call() -> None:
    def stumble(event: PlaybackEvent) -> None:
        raise RuntimeError("a mistake")

    async with raw_call() as (transport, _):
        transport.listen_to_playback(stumble)
        transport.play("a", tone(500, 100))
        with pytest.raises(MediaFailed):
            await read_all(transport)


async def test_calls_leave_nothing_behind() -> None:
    before = holdings()
    for _ in range(3):
        async with websocket_call() as (transport, _):
            transport.play("a", tone(500, 100))
    await released(before)


class StuckSocket:
    """Takes the first message, then nothing more."""

    def __init__(self) -> None:
        self.sent = 0
        self.closed = False

    async def receive(self) -> Mapping[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def send_text(self, data: str) -> None:
        self.sent += 1
        if self.sent > 1:
            await asyncio.Event().wait()

    async def close(self, code: int = 1000, reason: str | None = None) -> None:
        self.closed = True
