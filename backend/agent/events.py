"""The events of an agent's turn, for callbacks and pages alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from backend.citations import Citation
from backend.models.base import ToolCall
from backend.page_events import TokenGenerated, ToolCallEvent, ToolResultEvent
from backend.users.context_update import ContextUpdate


class ThinkingState(StrEnum):
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

    state: ThinkingState


@dataclass(frozen=True, slots=True)
class ThinkerResponse:
    """The outcome of one `think`."""

    text: str
    """The answer: made speakable for a spoken turn, otherwise as the model wrote it."""
    state: ThinkingState
    message_id: str = ""
    citations: tuple[Citation, ...] = ()
    tool_calls_made: tuple[str, ...] = ()
    """The names of the tools called, in order; a tool called twice is listed twice."""
    latency_ms: int = 0
    tokens_used: int = 0
    tokens_out: int = 0
    """The part of `tokens_used` that the model produced."""
    client_calls: tuple[ToolCall, ...] = ()
    """The calls that the client must carry out. The turn ends with them, and nothing of it is kept."""
    incomplete: bool = False
    """Whether the rounds ran out or the model was cut short; `text` says so."""
    sample: bool = False
    """Whether some of the answer rests on labelled sample data; `text` says so."""
    live: bool = False
    """Whether a tool supplied data, so that the answer is not the model's own knowledge alone."""
    cacheable: bool = True
    """Whether the answer may be cached: no sample, failure or tool that forbids it, and no earlier conversation."""
    untrusted: bool = False
    """Whether text of others has entered the turn."""
    personal: bool = False
    """Whether a tool was asked what is known about the user."""
    update: ContextUpdate | None = None
    """What the tools have learned about the user."""


AgentEvent = StateChanged | TokenGenerated | ToolCallEvent | ToolResultEvent
OnEvent = Callable[[AgentEvent], None]
