"""A Responder over the Realtime API's WebSocket: a thin shell around `codec`.

Messages are written in order and without waiting. The transport's buffer keeps what the network does not take, bounded
in bytes and in time: a connection that takes nothing is broken off.

This is the one file that reaches inside `websockets` 17. A call sends and receives some twenty messages a second; the
library's queue and its tasks would cost each a task's turn more. So `RealtimeConnection` overrides `process_event`,
which receives every frame, and writes by `protocol.send_text` and `send_data`, with an eye on `paused`. If one of these
changes, calls get no events: `tests/test_library_pins.py` fails first.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import DATA_OPCODES, Opcode
from websockets.frames import Frame as WebSocketFrame
from websockets.protocol import Event, State

from backend.errors import ResponderRejected, ResponderUnavailable
from backend.media.frame import BYTES_PER_MS, Frame
from backend.responders.base import Briefing, Capabilities, OnEvent, PastMessage, Responder
from backend.responders.codec import RealtimeCodec, Voice
from backend.turns.commands import ResponderCommand
from backend.turns.events import ResponderEvent

CONNECT_WITHIN_S = 6.0
SEND_WITHIN_S = 5.0
CLOSE_WITHIN_S = 2.0
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""The longest message, far above any event: audio deltas are tens of kilobytes, `response.done` holds transcripts."""
WAITING_LIMIT_BYTES = 1024 * 1024
"""The most bytes that wait for the network: a picture, or sixteen seconds of speech."""
EARLY_LIMIT = 1_000
"""The most events that are kept before `receive_events`."""
APPEND_BYTES: dict[str, int] = {"local": 200 * BYTES_PER_MS, "provider": 20 * BYTES_PER_MS}
"""The bytes of audio in one message, by endpointer: a message costs nearly as much for 20 ms as for 200. With local
endpointing nothing waits for the audio: the next message, such as a commit, first sends what was collected. A provider
that detects the end of speech gets every frame in a message of its own.
"""

Message = bytes | bytearray | memoryview
OnMessage = Callable[[Message], None]
"""Takes a whole message, as UTF-8. Returns without waiting and raises nothing."""


@dataclass(frozen=True, slots=True)
class RealtimeEndpoint:
    """The address and key of a Realtime API, and the voice to ask for."""

    url: str
    """The address, ws:// or wss://, without the model."""
    api_key: str
    voice: Voice
    headers: Callable[[], Awaitable[Mapping[str, str]]] | None = None
    """Makes the headers of a new connection, if the key is not sent as a plain bearer token."""
    settings: str = "OPENAI_API_KEY, OPENAI_BASE_URL and REALTIME_MODEL"
    """The settings to check when the API cannot be reached."""
    new_codec: Callable[[Voice], RealtimeCodec] = RealtimeCodec
    """Makes the codec of a connection, for OpenAI's protocol or a variant of it."""

    def __repr__(self) -> str:
        return f"RealtimeEndpoint({self.url}, {self.voice.model})"

    @property
    def capabilities(self) -> Capabilities:
        """Return the abilities of the model behind this endpoint."""
        return self.new_codec(self.voice).capabilities


async def connect_realtime(
    endpoint: RealtimeEndpoint, briefing: Briefing, history: Sequence[PastMessage]
) -> RealtimeResponder:
    """Connect, send the briefing, wait for its acceptance, and put the history back.

    Raises `ResponderRejected` if the key is refused, `ResponderUnavailable` for errors that may pass.
    """
    async with connecting("The Responder", endpoint.settings):
        return await _brief(await _open(endpoint), endpoint.new_codec(endpoint.voice), briefing, history)


async def probe_realtime(endpoint: RealtimeEndpoint) -> None:
    """Check whether a call would be served: open a session, and close it before any request.

    Raises as `connect_realtime` does.
    """
    async with connecting("The Responder", endpoint.settings):
        connection = await _open(endpoint)
        try:
            await _expect(connection, endpoint.new_codec(endpoint.voice), "session.created")
            await connection.close()
        finally:
            connection.transport.abort()


@asynccontextmanager
async def connecting(who: str, settings: str, refusals: Collection[int] = (401, 403)) -> AsyncIterator[None]:
    """Bound the time of connecting, and raise its errors as ours.

    `settings` names the settings to check; `refusals` are the HTTP statuses of permanent errors. No cause is kept: its
    text may hold a key.
    """
    try:
        async with asyncio.timeout(CONNECT_WITHIN_S):
            yield
    except InvalidStatus as error:
        status = error.response.status_code
        if status in refusals:
            raise ResponderRejected(f"{who} refused the key (HTTP {status}).", hint=f"Check {settings}.") from None
        raise ResponderUnavailable(f"{who} answered with HTTP {status}.", hint=f"Check {settings}.") from None
    except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
        message = f"{who} cannot be reached ({type(error).__name__})."
        raise ResponderUnavailable(message, hint=f"Check {settings}, and the network.") from None


async def dial(url: str, headers: Mapping[str, str] | None = None) -> RealtimeConnection:
    """Open a WebSocket. Use it within `connecting`."""
    connection = await connect(
        url,
        create_connection=RealtimeConnection,
        additional_headers=headers,
        compression=None,  # costs seven times as much as sending: audio does not compress in base64
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=CONNECT_WITHIN_S,
        close_timeout=CLOSE_WITHIN_S,
    )
    assert isinstance(connection, RealtimeConnection)
    return connection


async def _open(endpoint: RealtimeEndpoint) -> RealtimeConnection:
    bearer = {"Authorization": f"Bearer {endpoint.api_key}"}
    headers = await endpoint.headers() if endpoint.headers else bearer
    return await dial(f"{endpoint.url}?model={endpoint.voice.model}", headers)


async def _brief(
    connection: RealtimeConnection, codec: RealtimeCodec, briefing: Briefing, history: Sequence[PastMessage]
) -> RealtimeResponder:
    try:
        await _expect(connection, codec, "session.created")
        await connection.send(codec.brief(briefing, first=True), text=True)
        await _expect(connection, codec, "session.updated")
        for message in codec.restore(history):
            await connection.send(message, text=True)
    except BaseException:
        connection.transport.abort()
        raise
    return RealtimeResponder(connection, codec)


async def _expect(connection: RealtimeConnection, codec: RealtimeCodec, type_: str) -> None:
    while codec.type_of(await connection.next_message()) != type_:
        pass


class ConnectedResponder(Responder, ABC):
    """The base of Responders over a WebSocket, for any protocol: their events, failure and end."""

    def __init__(self, connection: RealtimeConnection, capabilities: Capabilities) -> None:
        self._connection = connection
        self._capabilities = capabilities
        self._on_event: OnEvent | None = None
        self._early: deque[ResponderEvent] = deque(maxlen=EARLY_LIMIT)  # before `receive_events`
        self._closing = False
        self._failure: ResponderUnavailable | None = None

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def receive_events(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        while self._early:
            on_event(self._early.popleft())
        await self._receive()
        self._report(self._last_events())
        if self._failure:
            raise self._failure
        if not self._closing:
            raise ResponderUnavailable("The Responder's connection broke.")

    async def close(self) -> None:
        self._closing = True
        await self._connection.close_soon()

    @abstractmethod
    def _on_message(self, message: Message) -> None:
        """Take a message of the provider."""

    def _last_events(self) -> Iterable[ResponderEvent]:
        """Return the events that the end of the connection causes."""
        return ()

    async def _receive(self) -> None:
        """Take messages until the connection is over."""
        with contextlib.suppress(ConnectionClosed):  # in the middle of a message
            await self._connection.receive_messages(self._on_message)

    def _report(self, events: Iterable[ResponderEvent]) -> None:
        if self._on_event is None:
            self._early.extend(events)
        elif not self._closing:
            for event in events:
                self._on_event(event)

    def _report_soon(self, events: Sequence[ResponderEvent]) -> None:
        """Report `events` later, because the call is still carrying out its commands."""
        if events:
            asyncio.get_running_loop().call_soon(self._report, events)

    def _fail(self, failure: ResponderUnavailable) -> None:
        """Break the connection off; `receive_events` raises `failure`."""
        self._failure = failure
        self._connection.transport.abort()


class RealtimeResponder(ConnectedResponder):
    """One connection, made by `connect_realtime`."""

    def __init__(self, connection: RealtimeConnection, codec: RealtimeCodec) -> None:
        super().__init__(connection, codec.capabilities)
        self._codec = codec
        self._append_bytes = APPEND_BYTES[codec.briefing.endpointing]
        self._piece = bytearray()  # audio not yet long enough to be sent

    def send_audio(self, frame: Frame) -> None:
        """Send 20 ms of the caller's speech."""
        self._piece += frame
        if len(self._piece) >= self._append_bytes:
            self._enqueue_piece()

    def send(self, command: ResponderCommand) -> None:
        self._enqueue_piece()
        self._connection.write(*self._codec.messages(command))
        if self._codec.released:  # reported later: the call is still carrying out its commands
            asyncio.get_running_loop().call_soon(self._release)

    def brief(self, briefing: Briefing) -> None:
        self._connection.write(self._codec.brief(briefing, first=False))

    def _on_message(self, message: Message) -> None:
        self._release()
        if self._failure is None:
            try:
                self._report(self._codec.decode(message))
            except ResponderUnavailable as error:
                self._fail(error)

    def _release(self) -> None:
        """Report the events that the codec held back until they were asked for."""
        released, self._codec.released = self._codec.released, []
        self._report(released)

    def _enqueue_piece(self) -> None:
        """Send the audio collected so far."""
        if self._piece:
            self._connection.write(self._codec.append(self._piece))
            self._piece.clear()


class RealtimeConnection(ClientConnection):
    """The WebSocket of a Responder. Its first messages are read by `next_message`, then all by `receive_messages`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._on_message: OnMessage | None = None
        self._queued = 0
        self._part = bytearray()  # of a message that comes in fragments; `max_size` bounds it
        self._behind: asyncio.TimerHandle | None = None  # while the network is

    def write(self, *messages: bytes) -> None:
        """Send messages of UTF-8 without waiting, unless the connection is lost.

        If too many bytes wait for the network, or for too long, the connection is broken off.
        """
        if self.protocol.state is not State.OPEN:
            return
        if self.transport.get_write_buffer_size() > WAITING_LIMIT_BYTES:
            self.transport.abort()
            return
        for text in messages:
            self.protocol.send_text(text)
        self.send_data()
        if self.paused and self._behind is None:
            self._behind = asyncio.get_running_loop().call_later(SEND_WITHIN_S, self._look_behind)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._behind is not None:
            self._behind.cancel()
            self._behind = None

    def _look_behind(self) -> None:
        self._behind = None
        if self.paused:
            self.transport.abort()

    async def close_soon(self) -> None:
        """Close the connection; break it off after `CLOSE_WITHIN_S` seconds."""
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self.close()
        except TimeoutError:
            self.transport.abort()

    async def next_message(self) -> bytes:
        """Return the next message, before `receive_messages`. Raises `ConnectionClosed`."""
        text = await self.recv(decode=False)
        self._queued -= 1
        return text

    async def receive_messages(self, on_message: OnMessage) -> None:
        """Call `on_message` with the messages that wait, then with each as it comes, until the connection is over."""
        while self._queued:
            on_message(await self.next_message())
        self._on_message = on_message
        try:
            await self.wait_closed()
        finally:
            self._on_message = lambda _: None

    def process_event(self, event: Event) -> None:
        """Take a received frame, or the answer to our handshake."""
        if not isinstance(event, WebSocketFrame) or event.opcode not in DATA_OPCODES:
            super().process_event(event)
        elif self._on_message is None:
            self._queued += event.opcode is not Opcode.CONT
            super().process_event(event)
        elif event.fin and not self._part:
            self._on_message(event.data)
        else:
            self._part += event.data
            if event.fin:
                whole, self._part = self._part, bytearray()
                self._on_message(whole)
