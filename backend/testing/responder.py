"""A Responder that does what a test tells it, and keeps what it was told."""

from __future__ import annotations

import asyncio

from backend.conversation.commands import CreateReply, ResponderCommand
from backend.conversation.events import ResponderEvent
from backend.errors import ResponderUnavailable
from backend.media.frame import Frame
from backend.responders.base import Briefing, OnEvent


class ScriptedResponder:
    """See `base.Responder`; `say` and `fail` are the provider's side."""

    def __init__(self) -> None:
        self.heard: list[Frame] = []
        self.done: list[ResponderCommand] = []
        self.briefings: list[Briefing] = []
        self.closed = False
        self._events: asyncio.Queue[ResponderEvent | ResponderUnavailable | None] = asyncio.Queue()

    def __repr__(self) -> str:
        return f"ScriptedResponder(heard {len(self.heard)} frames, {len(self.done)} commands)"

    @property
    def requests(self) -> list[CreateReply]:
        """The replies asked for so far."""
        return [command for command in self.done if isinstance(command, CreateReply)]

    @property
    def backlog(self) -> int:
        """Always sent at once."""
        return 0

    def say(self, *events: ResponderEvent) -> None:
        """Have the provider send these."""
        for event in events:
            self._events.put_nowait(event)

    def fail(self, error: ResponderUnavailable) -> None:
        """Have the connection break."""
        self._events.put_nowait(error)

    def send_audio(self, frame: Frame) -> None:
        """See `base.Responder`."""
        self.heard.append(frame)

    def send(self, command: ResponderCommand) -> None:
        """See `base.Responder`."""
        self.done.append(command)

    def brief(self, briefing: Briefing) -> None:
        """See `base.Responder`."""
        self.briefings.append(briefing)

    async def receive_events(self, on_event: OnEvent) -> None:
        """See `base.Responder`."""
        while (event := await self._events.get()) is not None:
            if isinstance(event, ResponderUnavailable):
                raise event
            on_event(event)

    async def close(self) -> None:
        """See `base.Responder`."""
        self.closed = True
        self._events.put_nowait(None)
