"""The protocol of a Responder: what a call needs of any speech-to-speech model.

`realtime` is the real one (OpenAI's Realtime API or anything that speaks it); `testing.responder` is for tests.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Struct

from backend.media.frame import Frame
from backend.turns.commands import Purpose, ResponderCommand
from backend.turns.events import ResponderEvent

Endpointer = Literal["local", "provider"]
"""Who decides that the caller has finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The abilities of a provider's model. A call asks this record, and never who the provider is."""

    endpointers: frozenset[Endpointer]
    """Who may decide that the caller has finished."""
    session_s: float
    """The seconds after which the provider ends a connection."""
    truncates: bool = False
    """Words that the caller has not heard can be removed from the conversation."""
    delegates: bool = False
    """The model hands tasks to a backend by itself, rather than by tool calls."""
    parallel_calls: bool = False
    """One reply may call several tools."""
    images: bool = False
    """The caller's pictures are understood."""
    reasons: bool = False
    """The model takes a reasoning effort."""
    input_rate_hz: int = 24_000
    caches: bool = False
    """An unchanged beginning of the conversation is billed for less, so directions for a reply stand at its end."""
    transcribes: bool = True
    """The provider transcribes the caller's words."""
    tells_certainty: bool = False
    """The provider reports how certain its transcripts are."""
    out_of_band: bool = False
    """The provider gives responses outside of the conversation, beside the one that is spoken."""
    resumes: bool = False
    """The Responder changes to another connection by itself before the provider ends one."""
    voices: tuple[str, ...] = ()
    """The voices that a call may choose from; empty: there is one, or they are not known."""
    speeds: tuple[float, float] | None = None
    """The slowest and the fastest speed, 1 being the usual one; None: the speed cannot be chosen."""
    languages: tuple[str, ...] = ()
    """The languages that the model understands and speaks, by their English names; empty: many."""

    def voice_of(self, asked: str, usual: str) -> str:
        """Return the requested voice if there is one of that name, otherwise the usual one."""
        return asked if asked in self.voices else usual

    def speed_of(self, asked: float, usual: float) -> float:
        """Return the possible speed nearest to the requested one; `asked` 0 means no request."""
        if not asked or self.speeds is None:
            return usual
        return min(max(asked, self.speeds[0]), self.speeds[1])

    def endpointer(self, wanted: Endpointer) -> Endpointer:
        """Return who decides that the caller has finished: the requested one if that is possible."""
        return wanted if wanted in self.endpointers else next(iter(self.endpointers))


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
    endpointing: Endpointer = "local"
    """'local': our VAD decides that the caller has finished; 'provider': its `semantic_vad` does."""
    purposes: dict[Purpose, str] = field(default_factory=dict)
    """Extra instructions for replies of a purpose (nudge, filler, goodbye, greeting)."""
    delegating: str = ""
    """The instructions of a model that has no tools and hands work over by itself."""
    tool_choice: Any = "auto"
    """The use of tools: `auto`, `none`, `required`, or the tool that the model must call, as in the Realtime API."""
    voice: str = ""
    """The requested voice of this call; empty or unknown to the provider: the voice of the settings."""
    speed: float = 0.0
    """The requested speed of speech in this call; 0: the speed of the settings."""


OnEvent = Callable[[ResponderEvent], None]
"""Takes one of the provider's events on the event loop; returns without waiting and never raises."""


class Responder(Protocol):
    """One connection to a speech-to-speech model. `send_audio` and `send` never wait; their queue is bounded."""

    @property
    def capabilities(self) -> Capabilities:
        """Return the abilities of the model at the other end."""
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
