"""A Responder over Gemini's Live API: a thin shell around `codec`.

A connection lasts about ten minutes. Before its end the provider sends `goAway`; the session then continues over
another one, by the newest handle ("Session management with Live API", ai.google.dev/gemini-api/docs/live-session). The
connection is changed while there is no speech and no open request; messages wait meanwhile. New instructions take
effect in the same way. If no such moment comes in the time left, the connection counts as broken, and the call engine
opens another and restores the history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from backend.errors import ResponderUnavailable
from backend.extensions.gemini.codec import CAPABILITIES, GeminiCodec
from backend.extensions.gemini.settings import GeminiSettings
from backend.media.frame import Frame
from backend.responders.base import Briefing, PastMessage
from backend.responders.realtime import ConnectedResponder, Message, RealtimeConnection, connecting, dial
from backend.turns.commands import ResponderCommand
from backend.turns.events import ResponderEvent

SPARE_S = 2.0
"""Seconds before the announced end at which a connection is given up."""
CALLED_WITHIN_S = 1.0
"""Seconds without a message after which a tool call counts as its reply's end: not every model sends one."""


async def connect_gemini(
    settings: GeminiSettings, briefing: Briefing, history: Sequence[PastMessage]
) -> GeminiResponder:
    """Connect, send the briefing, and restore the history. Raises `ResponderRejected` or `ResponderUnavailable`."""
    codec = GeminiCodec(settings.model, settings.voice)
    codec.briefing = briefing
    connection = await _open(settings, codec, codec.setup())
    for message in codec.restore(history):
        connection.write(message)
    return GeminiResponder(settings, connection, codec)


async def probe_gemini(settings: GeminiSettings) -> None:
    """Check that a call would be served. Raises the errors of `connect_gemini`."""
    codec = GeminiCodec(settings.model, settings.voice)
    connection = await _open(settings, codec, codec.setup())
    connection.transport.abort()


async def _open(settings: GeminiSettings, codec: GeminiCodec, setup: bytes) -> RealtimeConnection:
    """Return a connection after its setup was accepted."""
    async with connecting("Gemini", "the settings GEMINI__*"):
        connection = await dial(f"{settings.url}?key={settings.api_key.get_secret_value()}")
        try:
            connection.write(setup)
            while codec.decode(await connection.next_message())[0].setupComplete is None:
                pass
        except BaseException:
            connection.transport.abort()
            raise
        return connection


class GeminiResponder(ConnectedResponder):
    """One session, over one connection after another; made by `connect_gemini`."""

    def __init__(self, settings: GeminiSettings, connection: RealtimeConnection, codec: GeminiCodec) -> None:
        super().__init__(connection, CAPABILITIES)
        self._settings = settings
        self._codec = codec
        self._waiting: list[bytes] = []  # for the next connection
        self._wants_crossing = False
        self._deadline: asyncio.TimerHandle | None = None
        self._after_call: asyncio.TimerHandle | None = None
        self._crossing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "closing" if self._closing else "crossing" if self._crossing else "open"
        return f"GeminiResponder({state})"

    def send_audio(self, frame: Frame) -> None:
        self._send(*self._codec.append(frame))

    def send(self, command: ResponderCommand) -> None:
        messages, events = self._codec.encode(command)
        self._send(*messages)
        self._report_soon(events)
        self._cross_if_idle()

    def brief(self, briefing: Briefing) -> None:
        self._codec.briefing = briefing
        self._wants_crossing = True
        self._cross_if_idle()

    async def close(self) -> None:
        self._closing = True
        for timer in (self._deadline, self._after_call):
            if timer:
                timer.cancel()
        if self._crossing:
            self._crossing.cancel()
            await asyncio.wait([self._crossing])
        await super().close()

    async def _receive(self) -> None:
        """Receive messages over one connection after another."""
        crossed = True
        while crossed and not (self._failure or self._closing):  # a connection that was left has a successor
            connection = self._connection
            await super()._receive()
            if self._crossing:
                await asyncio.wait([self._crossing])
            crossed = connection is not self._connection

    def _last_events(self) -> Iterable[ResponderEvent]:
        return self._codec.lost()

    def _on_message(self, text: Message) -> None:
        if self._crossing:
            return  # it comes from the connection that is being left; requests go to the next one
        message, events = self._codec.decode(text)
        self._report(events)
        self._watch_calls()
        if message.goAway and not self._deadline:
            self._wants_crossing = True
            left_s = max(0.0, message.goAway.left_s - SPARE_S)
            ended = ResponderUnavailable("Gemini ended the connection.")
            self._deadline = asyncio.get_running_loop().call_later(left_s, self._fail, ended)
        self._cross_if_idle()

    def _watch_calls(self) -> None:
        if self._after_call:
            self._after_call.cancel()
            self._after_call = None
        if self._codec.has_called and not self._closing:
            self._after_call = asyncio.get_running_loop().call_later(CALLED_WITHIN_S, self._end_called)

    def _end_called(self) -> None:
        self._report(self._codec.end_called())
        self._cross_if_idle()

    def _cross_if_idle(self) -> None:
        """Change the connection if that is wanted, nothing is under way, and all messages are sent."""
        quiet = self._codec.idle and not self._crossing and not self._closing
        sent = self._connection.transport.get_write_buffer_size() == 0
        if sent and self._wants_crossing and quiet and self._codec.handle:
            self._wants_crossing = False
            crossing = self._cross(self._codec.setup())
            self._crossing = asyncio.create_task(crossing, name="gemini crosses to another connection")

    async def _cross(self, setup: bytes) -> None:
        """Continue over another connection. Messages wait until it is open."""
        try:
            following = await _open(self._settings, self._codec, setup)
        except ResponderUnavailable as error:
            self._fail(error)
            return
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None
        former, self._connection = self._connection, following
        self._crossing = None
        former.transport.abort()  # nothing is under way there
        following.write(*self._waiting)
        self._waiting.clear()

    def _send(self, *messages: bytes) -> None:
        if self._crossing:
            self._waiting += messages
        else:
            self._connection.write(*messages)
