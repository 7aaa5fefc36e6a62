"""A Responder that a test controls, and that keeps everything that it was sent."""

import asyncio
from collections import deque

from backend.errors import ResponderUnavailable
from backend.media.frame import Frame
from backend.responders.base import Briefing, Capabilities, OnEvent
from backend.responders.openai_models import capabilities_of
from backend.turns.commands import CreateReply, ResponderCommand
from backend.turns.events import ResponderEvent


class ScriptedResponder:
    """A `Responder` with the test as its provider: `say` sends its events, `fail` breaks the connection."""

    def __init__(self, capabilities: Capabilities | None = None) -> None:
        """`capabilities` are by default those of the newest models."""
        self.capabilities = capabilities or capabilities_of("gpt-realtime-2")
        self.frames: list[Frame] = []
        self.commands: list[ResponderCommand] = []
        self.briefings: list[Briefing] = []
        self.closed = False
        self._sent: deque[ResponderEvent] = deque()
        self._on_event: OnEvent | None = None
        self._over = asyncio.Event()
        self._error: ResponderUnavailable | None = None

    @property
    def requests(self) -> list[CreateReply]:
        """Return the requests for replies so far."""
        return [command for command in self.commands if isinstance(command, CreateReply)]

    def say(self, *events: ResponderEvent) -> None:
        """Send `events` as the provider: they come in a callback of the event loop, like those of a socket."""
        self._sent.extend(events)
        asyncio.get_running_loop().call_soon(self._deliver)

    def fail(self, error: ResponderUnavailable) -> None:
        """Break the connection with `error`."""
        self._error = error
        self._over.set()

    def send_audio(self, frame: Frame) -> None:
        """Keep a frame of the caller's speech in `frames`."""
        self.frames.append(frame)

    def send(self, command: ResponderCommand) -> None:
        """Keep a command in `commands`."""
        self.commands.append(command)

    def brief(self, briefing: Briefing) -> None:
        """Keep a briefing in `briefings`."""
        self.briefings.append(briefing)

    async def receive_events(self, on_event: OnEvent) -> None:
        """Call `on_event` with each event of `say`, until `close`. Raises the error of `fail`."""
        self._on_event = on_event
        self._deliver()
        try:
            await self._over.wait()
            if self._error:
                raise self._error
        finally:
            self._on_event = None

    async def close(self) -> None:
        """End `receive_events`."""
        self.closed = True
        self._over.set()

    def _deliver(self) -> None:
        while self._on_event and self._sent:
            self._on_event(self._sent.popleft())
