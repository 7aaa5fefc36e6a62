"""The WebSocket under a Responder, against a server of our own that can be slow, early, or send fragments."""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from backend.errors import ResponderUnavailable
from backend.media.frame import FRAME_BYTES, Frame
from backend.responders import realtime
from backend.responders.base import Briefing
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, RealtimeResponder, connect_realtime
from backend.turns import commands as do
from backend.turns import events as ev
from tests.support.waiting import until

Speak = Callable[[ServerConnection], Awaitable[None]]


def words(number: int) -> str:
    """A piece of a transcript, as the provider sends it."""
    text = {"type": "response.output_audio_transcript.delta", "response_id": "r", "item_id": "i", "delta": f"{number} "}
    return json.dumps(text)


@asynccontextmanager
async def dialled(speak: Speak) -> AsyncIterator[RealtimeResponder]:
    """A Responder; its provider accepts the briefing, then does `speak`."""

    async def provide(socket: ServerConnection) -> None:
        await socket.send('{"type":"session.created"}')
        await socket.recv()
        await socket.send('{"type":"session.updated"}')
        await speak(socket)

    async with serve(provide, "127.0.0.1", 0, compression=None, max_queue=1, close_timeout=0.2) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        responder = await connect_realtime(
            RealtimeEndpoint(f"ws://127.0.0.1:{port}", "k", Voice("m", "v", "t")), Briefing("x"), ()
        )
        try:
            yield responder
        finally:
            await responder.close()


async def heard(responder: RealtimeResponder) -> list[ev.Event]:
    """All events until the provider hangs up."""
    events: list[ev.Event] = []
    async with asyncio.timeout(20):
        with pytest.raises(ResponderUnavailable):
            await responder.receive_events(events.append)
    return events


def numbers(events: list[ev.Event]) -> list[int]:
    return [int(event.delta) for event in events if isinstance(event, ev.ReplyText)]


async def test_events_before_the_first_read_are_received_first() -> None:
    async def speak(socket: ServerConnection) -> None:
        for number in range(5):
            await socket.send(words(number))
        await socket.recv()
        await socket.send(words(5))

    async with dialled(speak) as responder:
        await asyncio.sleep(0.05)
        responder.send(do.ClearInput())
        assert numbers(await heard(responder)) == [0, 1, 2, 3, 4, 5]


async def test_a_fragmented_message_arrives_whole_and_in_its_place() -> None:
    async def speak(socket: ServerConnection) -> None:
        await socket.recv()
        for number in range(3):
            text = words(number)
            await socket.send((text[:10], text[10:20], text[20:]) if number == 1 else text)

    async with dialled(speak) as responder:
        responder.send(do.ClearInput())
        assert numbers(await heard(responder)) == [0, 1, 2]


async def test_nothing_is_read_after_the_message_that_ends_a_session() -> None:
    async def speak(socket: ServerConnection) -> None:
        expired = {"type": "error", "error": {"code": "session_expired", "message": "over"}}
        for text in (words(0), json.dumps(expired), words(1)):
            await socket.send(text)
        await socket.wait_closed()

    async with dialled(speak) as responder:
        events: list[ev.Event] = []
        with pytest.raises(ResponderUnavailable, match="expired"):
            async with asyncio.timeout(20):
                await responder.receive_events(events.append)
        assert numbers(events) == [0]


async def test_on_a_slow_network_audio_arrives_whole_and_in_order() -> None:
    slow = asyncio.Event()
    received: list[bytes] = []

    async def speak(socket: ServerConnection) -> None:
        await slow.wait()
        received.extend([b64decode(json.loads(text).get("audio", "")) async for text in socket])

    async with dialled(speak) as responder:
        frames = [Frame(n.to_bytes(2, "little") * (FRAME_BYTES // 2)) for n in range(30_000)]
        sent = iter(frames)
        while not responder._connection.paused:  # until the kernel's buffers are full, too
            responder.send_audio(next(sent))
            await asyncio.sleep(0)
        slow.set()
        rest = list(sent)
        responder.send(do.ClearInput())
        await until(lambda: not responder._connection.transport.get_write_buffer_size())
        await responder.close()
    assert b"".join(received) == b"".join(frames[: len(frames) - len(rest)])


async def test_a_network_that_takes_nothing_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "SEND_WITHIN_S", 0.05)

    async def speak(socket: ServerConnection) -> None:
        socket.transport.pause_reading()
        await socket.wait_closed()

    async with dialled(speak) as responder:
        listening = asyncio.create_task(heard(responder))
        while not listening.done():
            responder.send(do.AddNote("x" * 100_000))
            await asyncio.sleep(0.005)
        assert await listening == []


async def test_progress_on_the_network_renews_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtime, "SEND_WITHIN_S", 1.0)

    async with dialled(lambda socket: socket.wait_closed()) as responder:
        connection = responder._connection
        connection.pause_writing()
        responder.send(do.ClearInput())
        await asyncio.sleep(0.7)
        connection.resume_writing()
        connection.pause_writing()
        responder.send(do.ClearInput())
        await asyncio.sleep(0.5)
        assert not connection.transport.is_closing()
        await until(connection.transport.is_closing)
