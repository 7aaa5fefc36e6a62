"""A Responder over the Realtime API's WebSocket: a thin shell around `codec`.

Everything we say is written at once, in order; what the network does not take waits in one outbox, so that nobody on
the audio path ever waits for it. The outbox is bounded, in length and in time: a line that takes nothing is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from backend.conversation.commands import ResponderCommand
from backend.errors import ResponderRejected, ResponderUnavailable
from backend.media.frame import BYTES_PER_MS, Frame
from backend.responders.base import Briefing, OnEvent, PastMessage
from backend.responders.codec import RealtimeCodec, Voice
from backend.responders.connection import Message, RealtimeConnection

CONNECT_WITHIN_S = 6.0
SEND_WITHIN_S = 5.0
CLOSE_WITHIN_S = 2.0
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Far above any event: audio deltas are tens of kilobytes, `response.done` holds transcripts."""
OUTBOX_LIMIT = 1_000
"""Messages waiting, audio joined: about ten seconds of a line that takes nothing."""
APPEND_LIMIT_BYTES = 200 * BYTES_PER_MS
"""Audio that has piled up is sent in pieces of at most 200 ms."""
APPEND_BYTES: dict[str, int] = {"local": 200 * BYTES_PER_MS, "provider": 20 * BYTES_PER_MS}
"""Audio is sent in pieces of this length: a message costs nearly as much for 20 ms as for 200. With our own endpointing
nothing waits for it: whatever is said next, a commit above all, takes what is there along. A provider that listens for
the end of speech itself gets every frame at once."""


@dataclass(frozen=True, slots=True)
class RealtimeEndpoint:
    """Where the Realtime API is, and how it is asked."""

    url: str
    """ws:// or wss://, without the model."""
    api_key: str
    voice: Voice

    def __repr__(self) -> str:
        return f"RealtimeEndpoint({self.url}, {self.voice.model})"


async def connect_realtime(
    endpoint: RealtimeEndpoint, briefing: Briefing, history: Sequence[PastMessage]
) -> RealtimeResponder:
    """Connect, brief, and put the history back; the reply to the briefing is awaited before any audio.

    Raises `ResponderRejected` when the key is refused, `ResponderUnavailable` for anything that may pass.
    """
    try:
        async with asyncio.timeout(CONNECT_WITHIN_S):
            socket = await connect(
                f"{endpoint.url}?model={endpoint.voice.model}",
                create_connection=RealtimeConnection,
                additional_headers={"Authorization": f"Bearer {endpoint.api_key}"},
                compression=None,  # costs seven times as much as sending: audio does not compress in base64
                max_size=MAX_MESSAGE_BYTES,
                open_timeout=CONNECT_WITHIN_S,
                close_timeout=CLOSE_WITHIN_S,
            )
            assert isinstance(socket, RealtimeConnection)
            return await _introduce(socket, RealtimeCodec(endpoint.voice), briefing, history)
    except InvalidStatus as error:
        raise _refused(error.response.status_code) from None
    except (OSError, TimeoutError, InvalidHandshake, ConnectionClosed) as error:
        raise ResponderUnavailable(
            f"The Responder cannot be reached ({type(error).__name__}).",
            hint="Check OPENAI_BASE_URL and the network.",
        ) from error


async def _introduce(
    socket: RealtimeConnection, codec: RealtimeCodec, briefing: Briefing, history: Sequence[PastMessage]
) -> RealtimeResponder:
    try:
        await _expect(socket, codec, "session.created")
        await socket.send(codec.brief(briefing, first=True), text=True)
        await _expect(socket, codec, "session.updated")
        for message in codec.restore(history):
            await socket.send(message, text=True)
    except BaseException:
        socket.transport.abort()
        raise
    return RealtimeResponder(socket, codec)


async def _expect(socket: RealtimeConnection, codec: RealtimeCodec, type_: str) -> None:
    while codec.type_of(await socket.message()) != type_:
        pass


def _refused(status: int) -> ResponderUnavailable:
    if status in (401, 403):
        return ResponderRejected(f"The Responder refused the key (HTTP {status}).", hint="Check OPENAI_API_KEY.")
    return ResponderUnavailable(
        f"The Responder answered with HTTP {status}.", hint="Check OPENAI_BASE_URL and REALTIME_MODEL."
    )


class RealtimeResponder:
    """One connection; see `base.Responder`. Made by `connect_realtime`."""

    def __init__(self, socket: RealtimeConnection, codec: RealtimeCodec) -> None:
        self._socket = socket
        self._codec = codec
        self._outbox: deque[bytes | bytearray] = deque()
        self._append_bytes = APPEND_BYTES[codec.endpointing]
        self._piece = bytearray()  # audio not yet long enough to be sent
        self._closing = False
        self._waiting: asyncio.Task[None] | None = None  # for the network, while it is behind

    def __repr__(self) -> str:
        state = "closing" if self._closing else "open"
        return f"RealtimeResponder({state}, {len(self._outbox)} to send)"

    @property
    def backlog(self) -> int:
        """Messages waiting to be sent."""
        return len(self._outbox)

    def send_audio(self, frame: Frame) -> None:
        """See `base.Responder`. Audio that piles up behind a slow network is joined."""
        self._piece += frame
        if len(self._piece) >= self._append_bytes:
            self._post_piece()

    def send(self, command: ResponderCommand) -> None:
        """See `base.Responder`."""
        self._post_piece()
        self._post(self._codec.encode(command))

    def brief(self, briefing: Briefing) -> None:
        """See `base.Responder`."""
        self._post(self._codec.brief(briefing, first=False))

    async def receive_events(self, on_event: OnEvent) -> None:
        """See `base.Responder`."""
        last_word: ResponderUnavailable | None = None

        def take(message: Message) -> None:
            nonlocal last_word
            try:
                for event in self._codec.decode(message) if last_word is None else ():
                    on_event(event)
            except ResponderUnavailable as error:
                last_word = error
                self._socket.transport.abort()

        with contextlib.suppress(ConnectionClosed):  # in the middle of a message
            await self._socket.hand_on(take)
        if last_word:
            raise last_word
        if not self._closing:
            raise ResponderUnavailable("The Responder's connection broke.")

    async def close(self) -> None:
        """See `base.Responder`."""
        self._closing = True
        if self._waiting:
            self._waiting.cancel()
            await asyncio.wait([self._waiting])  # unlike awaiting it, this keeps our own cancellation apart from its
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                await self._socket.close()
        except TimeoutError:
            self._socket.transport.abort()

    def _post_piece(self) -> None:
        """Send what has been heard so far."""
        if not self._piece:
            return
        last = self._outbox[-1] if self._outbox else None
        if isinstance(last, bytearray) and len(last) < APPEND_LIMIT_BYTES:
            last += self._piece
        else:
            self._post(self._piece)
        self._piece = bytearray()

    def _post(self, message: bytes | bytearray) -> None:
        if len(self._outbox) >= OUTBOX_LIMIT:
            self._socket.transport.abort()  # the reader sees the connection break, and a new one is made
            return
        self._outbox.append(message)
        if self._waiting is None:
            self._send()

    def _send(self) -> None:
        """As much as the network takes."""
        while self._outbox and not self._socket.full:
            message = self._outbox.popleft()
            self._socket.post(message if isinstance(message, bytes) else self._codec.append(message))
        if self._outbox and not self._closing:
            self._waiting = asyncio.create_task(self._wait(), name="responder waits for the network")

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(SEND_WITHIN_S):
                await self._socket.drain()
        except (OSError, TimeoutError):
            self._socket.transport.abort()
        else:
            self._waiting = None
            self._send()
