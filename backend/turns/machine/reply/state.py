"""The state of the reply machine: the reply in flight, the wanted replies, and the items not heard yet."""

from dataclasses import dataclass, field
from enum import StrEnum

from backend.turns.commands import Purpose
from backend.turns.spoken import SpokenItems


class Phase(StrEnum):
    """The progress of the reply in flight."""

    NONE = "none"
    """No reply is in flight."""
    REQUESTED = "requested"
    STREAMING = "streaming"
    CANCELLING = "cancelling"
    DISCARDING = "discarding"
    """A reply that was prepared in a pause is cancelled, because the caller went on."""


WANTED = (Phase.REQUESTED, Phase.STREAMING)
"""The phases of a reply that has not been cancelled."""


@dataclass(slots=True)
class ReplyInFlight:
    """The one reply in flight."""

    request: str
    purpose: Purpose
    attempt: int
    since: float
    phase: Phase = Phase.REQUESTED
    id: str | None = None
    called: bool = False
    """The reply has called a tool."""
    interruptible: bool = True
    messages: dict[str, str] = field(default_factory=dict)
    """The words of the reply so far, by message."""
    first_item: str | None = None
    """The item with which the reply began to sound; None before its first sound."""

    @property
    def wanted(self) -> bool:
        """False if the reply has been cancelled."""
        return self.phase in WANTED

    @property
    def sounded(self) -> bool:
        """True from the reply's first sound on."""
        return self.first_item is not None


@dataclass(slots=True)
class ReplyState:
    """The replies of one conversation."""

    in_flight: ReplyInFlight | None = None
    requests: int = 0
    """The number of replies asked for so far."""
    wanted: dict[Purpose, int] = field(default_factory=dict)
    """The purposes of the replies to ask for when the floor is free, each with the number of its attempt."""
    not_before: float = 0.0
    """The moment before which no reply is asked for."""
    refusals: int = 0
    """The number of the provider's refusals in a row."""
    waits: int = 0
    """The number of times in a row that a rate limit was waited out."""
    unanswered: int = 0
    """The number of replies in a row that did not begin in time, or stopped, without another sound since."""
    left: int = 0
    """The number of providers that were left because they were mute."""
    items: SpokenItems = field(default_factory=SpokenItems)
    """The items of replies that have begun and are not heard to their end yet."""
    hint: str = ""
    """Instructions for the next reply, from the caller's program."""
    read_out_next: bool = False
    """The next reply that speaks a result must be heard to its end."""

    def streaming(self, reply_id: str) -> ReplyInFlight | None:
        """Return the reply in flight if it has that id and is still wanted; otherwise None."""
        reply = self.in_flight
        if reply and reply.phase is Phase.STREAMING and reply.id == reply_id:
            return reply
        return None  # a cancelled reply may still send
