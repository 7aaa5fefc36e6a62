"""The protocol of a Responder: what a call needs of any speech-to-speech model.

`realtime` is the real one (OpenAI's Realtime API or anything that speaks it); `testing.responder` is for tests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Struct

from backend.conversation.commands import Purpose, ResponderCommand
from backend.conversation.events import ResponderEvent
from backend.media.frame import Frame


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One thing said earlier, to be put back after a reconnection."""

    role: Literal["user", "assistant"]
    text: str


class ToolSchema(Struct, frozen=True, tag_field="type", tag="function"):
    """A function that the model may call, as the Realtime API takes it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The arguments as JSON Schema."""


@dataclass(frozen=True, slots=True)
class Briefing:
    """The instructions, tools and endpointing a Responder gets before the first word."""

    instructions: str
    tools: tuple[ToolSchema, ...] = ()
    endpointing: Literal["local", "provider"] = "local"
    """'local': our VAD decides that the caller has finished; 'provider': its `semantic_vad` does."""
    purposes: dict[Purpose, str] = field(default_factory=dict)
    """Extra instructions for replies of a purpose (nudge, filler, goodbye, greeting)."""


OnEvent = Callable[[ResponderEvent], None]
"""Takes one of the provider's events on the event loop; returns at once and never raises."""


class Responder(Protocol):
    """One connection to a speech-to-speech model. `send_audio` and `send` return at once; their queue is bounded."""

    @property
    def backlog(self) -> int:
        """Messages waiting to be sent."""
        ...

    def send_audio(self, frame: Frame) -> None:
        """Send 20 ms of the caller's speech."""
        ...

    def send(self, command: ResponderCommand) -> None:
        """Send a command, after everything already queued."""
        ...

    def brief(self, briefing: Briefing) -> None:
        """Replace the instructions in mid-call."""
        ...

    async def receive_events(self, on_event: OnEvent) -> None:
        """Call `on_event` with each of the provider's events the moment it comes, until `close`.

        Raises `ResponderUnavailable` when the connection is lost.
        """
        ...

    async def close(self) -> None:
        """Hang up within 2 s. Safe to call twice."""
        ...


ResponderFactory = Callable[[Briefing, Sequence[PastMessage]], Awaitable[Responder]]
"""Connect, send the briefing and wait for its acceptance, then put the history back.

Raises `ResponderUnavailable` (try again) or `ResponderRejected` (do not)."""
