"""What a typed turn is asked, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.storage.memory import new_message_id


@dataclass(frozen=True, slots=True, repr=False)
class TypedTurn:
    """One message to be answered.

    `conversation_id` None: no conversation, nothing before it is known and nothing is kept. `earlier` are messages
    the caller brings, (role, text): they count where we have no history of our own.
    """

    user_id: str
    text: str
    conversation_id: str | None = None
    named_conversation: bool = True
    """False: the id was made here, so that a retry may come with another."""
    message_id: str = field(default_factory=new_message_id)
    earlier: Sequence[tuple[str, str]] = ()
    platform: str = ""
    """Where it was typed, as the caller names it; steps around the turn may go by it."""
    mode: str = ""
    """The mode for this turn; empty: the one the user has chosen."""

    def __repr__(self) -> str:  # without the user's words
        return f"TypedTurn({self.message_id}, {len(self.text)} characters, {self.platform or 'no platform'})"


@dataclass(frozen=True, slots=True, repr=False)
class Reply:
    """What came of it, as the API shows it."""

    conversation_id: str | None
    message_id: str
    """The question's."""
    reply_id: str
    """The answer's; empty when the turn was cancelled."""
    text: str
    state: str
    """complete or cancelled."""
    mode: str
    history: str
    """kept; unavailable: answered without it; none: there is no conversation."""
    incomplete: bool = False
    sample: bool = False
    citations: tuple[str, ...] = ()
    tool_calls: int = 0
    thinkers: tuple[str, ...] = ()
    tokens: int = 0
    latency_ms: int = 0

    def shown(self) -> dict[str, Any]:
        """As JSON data."""
        names = self.__slots__
        return {name: list(value) if isinstance(value := getattr(self, name), tuple) else value for name in names}
