"""The events of an agent's turn: one stream of types for callbacks and pages alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from backend.citations import Citation
from backend.models.base import ToolCall
from backend.page_events import TokenGenerated, ToolCallFinished, ToolCallStarted
from backend.users.context_update import ContextUpdate


class TurnState(StrEnum):
    """The states of a `ThinkerSession`."""

    IDLE = "idle"
    PROCESSING = "processing"
    """The model was asked and has not spoken yet."""
    TOOL_CALLING = "tool_calling"
    GENERATING = "generating"
    """The model speaks."""
    COMPLETE = "complete"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The session moved to `state`."""

    state: TurnState


@dataclass(frozen=True, slots=True)
class ThinkerResponse:
    """The outcome of one `think`."""

    text: str
    """Cleaned for speech when the turn was spoken, as the model wrote it otherwise."""
    state: TurnState
    message_id: str = ""
    citations: tuple[Citation, ...] = ()
    tool_calls_made: tuple[str, ...] = ()
    """The names of the tools called, in order; one called twice stands there twice."""
    latency_ms: int = 0
    tokens_used: int = 0
    tokens_out: int = 0
    """Those of `tokens_used` that the model produced."""
    client_calls: tuple[ToolCall, ...] = ()
    """The calls that the client is to carry out: the turn ends with them, and nothing of it is kept."""
    incomplete: bool = False
    """The rounds ran out, or the model was cut short: `text` says so."""
    sample: bool = False
    """Some of it rests on labelled sample data: `text` says so."""
    live: bool = False
    """A tool supplied data, so it is not the model's own knowledge alone."""
    cacheable: bool = True
    """Nothing in it was a sample, a failure, or a tool's that forbids it, and nothing had been said before."""
    untrusted: bool = False
    """Text of others has entered the turn."""
    personal: bool = False
    """A tool was asked what is known of the user."""
    update: ContextUpdate | None = None
    """What its tools teach about the user."""


AgentEvent = StateChanged | TokenGenerated | ToolCallStarted | ToolCallFinished
OnEvent = Callable[[AgentEvent], None]
