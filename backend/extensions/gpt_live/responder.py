"""A Responder over OpenAI's GPT-Live: a thin shell around `codec`, with the clock that drives the model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager

from backend.errors import ResponderUnavailable
from backend.extensions.gpt_live.clock import CHUNK_MS
from backend.extensions.gpt_live.codec import CAPABILITIES, LiveCodec
from backend.extensions.gpt_live.settings import GptLiveSettings
from backend.media.frame import Frame
from backend.responders.base import Briefing, PastMessage
from backend.responders.realtime import ConnectedResponder, Message, RealtimeConnection, connecting, dial
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
    """Check that a call would be served, without a session, which would cost. Raises the errors of `connect_live`."""
    async with _connecting():
        (await _dialled(settings, api_key)).transport.abort()


def _connecting() -> AbstractAsyncContextManager[None]:
    return connecting("GPT-Live", "OPENAI_API_KEY and the settings GPT_LIVE__*", REFUSED_STATUSES)


async def _dialled(settings: GptLiveSettings, api_key: str) -> RealtimeConnection:
    return await dial(settings.url, {"Authorization": f"Bearer {api_key}"})


class LiveResponder(ConnectedResponder):
    """One session, made by `connect_live`."""

    def __init__(self, connection: RealtimeConnection, codec: LiveCodec) -> None:
        super().__init__(connection, CAPABILITIES)
        self._codec = codec
        self._loop = asyncio.get_running_loop()
        self._tick_at = self._loop.time()
        self._ticking = self._loop.call_soon(self._tick)
        self._alarm: asyncio.TimerHandle | None = None

    def send_audio(self, frame: Frame) -> None:
        self._connection.write(*self._codec.append(frame, self._loop.time()))

    def send(self, command: ResponderCommand) -> None:
        messages, events = self._codec.encode(command, self._loop.time())
        self._connection.write(*messages)
        self._report_soon(events)
        self._set_alarm()

    def brief(self, briefing: Briefing) -> None:
        self._connection.write(*self._codec.brief(briefing))

    async def close(self) -> None:
        self._closing = True
        self._ticking.cancel()
        if self._alarm:
            self._alarm.cancel()
        self._connection.write(b'{"type":"session.close"}')  # the session is charged until then
        await super().close()

    def _on_message(self, message: Message) -> None:
        if self._failure or self._closing:
            return
        try:
            self._report(self._codec.decode(message, self._loop.time()))
        except ResponderUnavailable as error:
            self._fail(error)
        else:
            self._set_alarm()

    def _last_events(self) -> Iterable[ResponderEvent]:
        return self._codec.lost()

    def _set_alarm(self) -> None:
        """Wake when the codec has something to do by itself."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        due = self._codec.deadline()
        if due is not None and due != float("inf") and not self._closing:  # infinity means never
            self._alarm = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        self._alarm = None
        self._report(self._codec.expire(self._loop.time()))
        self._set_alarm()

    def _tick(self) -> None:
        """Send the silence that is due, ten times a second."""
        now = self._loop.time()
        self._connection.write(*self._codec.keep_time(now))
        self._tick_at = max(self._tick_at + TICK_S, now)
        if not (self._closing or self._failure):
            self._ticking = self._loop.call_at(self._tick_at, self._tick)
