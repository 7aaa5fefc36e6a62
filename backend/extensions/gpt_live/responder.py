"""A Responder over OpenAI's GPT-Live: a thin shell around `codec`, with the clock that drives the model."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from websockets.exceptions import ConnectionClosed

from backend.errors import ResponderUnavailable
from backend.extensions.gpt_live.clock import CHUNK_MS
from backend.extensions.gpt_live.codec import CAPABILITIES, LiveCodec
from backend.extensions.gpt_live.settings import GptLiveSettings
from backend.media.frame import Frame
from backend.responders.base import Briefing, Capabilities, OnEvent, PastMessage, Responder
from backend.responders.realtime import OUTBOX_LIMIT, Message, MessageOutbox, RealtimeConnection, connecting, dial
from backend.turns.commands import ResponderCommand
from backend.turns.events import ResponderEvent

TICK_S = CHUNK_MS / 1000
REFUSED_STATUSES = (401, 403, 404)


async def connect_live(
    settings: GptLiveSettings, api_key: str, briefing: Briefing, history: Sequence[PastMessage]
) -> LiveResponder:
    """Connect, and start a session with the history. Raises `ResponderRejected` or `ResponderUnavailable`."""
    codec = LiveCodec(settings.model, settings.voice)
    start = codec.start(briefing, list(history))
    async with _connecting():
        connection = await _dialled(settings, api_key)
        try:
            connection.write(start)
            while codec.type_of(await connection.next_message()) != "session.started":
                pass
        except BaseException:
            connection.transport.abort()
            raise
        return LiveResponder(connection, codec)


async def probe_live(settings: GptLiveSettings, api_key: str) -> None:
    """Find out whether a call would be served: no session is started, since its time costs.

    Raises as `connect_live` does.
    """
    async with _connecting():
        (await _dialled(settings, api_key)).transport.abort()


def _connecting() -> AbstractAsyncContextManager[None]:
    return connecting("GPT-Live", "OPENAI_API_KEY and the settings GPT_LIVE__*", REFUSED_STATUSES)


async def _dialled(settings: GptLiveSettings, api_key: str) -> RealtimeConnection:
    return await dial(settings.url, {"Authorization": f"Bearer {api_key}"})


class LiveResponder(Responder):
    """One session, made by `connect_live`."""

    def __init__(self, connection: RealtimeConnection, codec: LiveCodec) -> None:
        self._connection = connection
        self._codec = codec
        self._loop = asyncio.get_running_loop()
        self._outbox = MessageOutbox(connection)
        self._on_event: OnEvent | None = None
        self._early: deque[ResponderEvent] = deque(maxlen=OUTBOX_LIMIT)  # of before anybody received events
        self._closing = False
        self._failure: ResponderUnavailable | None = None
        self._tick_at = self._loop.time()
        self._ticking = self._loop.call_soon(self._tick)
        self._alarm: asyncio.TimerHandle | None = None

    def __repr__(self) -> str:
        return f"LiveResponder({'closing' if self._closing else 'open'}, {len(self._outbox)} to send)"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def send_audio(self, frame: Frame) -> None:
        self._outbox.put(*self._codec.append(frame, self._loop.time()))

    def send(self, command: ResponderCommand) -> None:
        messages, events = self._codec.encode(command, self._loop.time())
        self._outbox.put(*messages)
        for event in events:  # later, since the sender is in the middle of something
            self._loop.call_soon(self._report, event)
        self._set_alarm()

    def brief(self, briefing: Briefing) -> None:
        self._outbox.put(*self._codec.brief(briefing))

    async def receive_events(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        while self._early:
            on_event(self._early.popleft())
        with contextlib.suppress(ConnectionClosed):  # in the middle of a message
            await self._connection.receive_messages(self._on_message)
        self._report_all(self._codec.lost())
        if self._failure:
            raise self._failure
        if not self._closing:
            raise ResponderUnavailable("The Responder's connection broke.")

    async def close(self) -> None:
        self._closing = True
        self._ticking.cancel()
        if self._alarm:
            self._alarm.cancel()
        await self._outbox.close()
        self._connection.write(b'{"type":"session.close"}')  # its time costs until then
        await self._connection.close_soon()

    def _on_message(self, text: Message) -> None:
        if self._failure or self._closing:
            return
        try:
            events = self._codec.decode(text, self._loop.time())
        except ResponderUnavailable as error:
            self._failure = error
            self._connection.transport.abort()
            return
        self._report_all(events)

    def _report(self, event: ResponderEvent) -> None:
        if self._closing:
            return
        if self._on_event:
            self._on_event(event)
        else:
            self._early.append(event)

    def _report_all(self, events: Iterable[ResponderEvent]) -> None:
        for event in events:
            self._report(event)
        self._set_alarm()

    def _set_alarm(self) -> None:
        """Wake when the codec has something to do by itself."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        due = self._codec.deadline()
        if due is not None and due != float("inf") and not self._closing:
            self._alarm = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        self._alarm = None
        self._report_all(self._codec.expire(self._loop.time()))

    def _tick(self) -> None:
        """Send the silence that is due, ten times a second."""
        now = self._loop.time()
        self._outbox.put(*self._codec.keep_time(now))
        self._tick_at = max(self._tick_at + TICK_S, now)
        if not (self._closing or self._failure):
            self._ticking = self._loop.call_at(self._tick_at, self._tick)
