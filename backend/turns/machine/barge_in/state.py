"""The state of the barge-in machine: the effect of a voice on playback, the candidate, and the suspended reply."""

from dataclasses import dataclass, field
from enum import StrEnum

from backend.turns.machine.pending_turn.state import TurnWords
from backend.turns.spoken import SpokenItem


class BargeIn(StrEnum):
    """The effect of a voice on playback. The floor is HELD where playback is DUCKED or HELD for one."""

    NONE = "none"
    HINTED = "hinted"
    """Playback is turned down for a voice that may be beginning."""
    DUCKED = "ducked"
    """Playback is turned down for a voice that sounds."""
    HELD = "held"
    """Playback is silent for a voice that sounds."""


@dataclass(slots=True)
class Candidate:
    """A short utterance over a reply, committed so that the provider transcribes it: see `candidate`."""

    words: TurnWords
    began: float
    """The moment of the utterance's onset."""
    voiced_ms: int = 0
    quiet_since: float = 0.0
    """The moment of the utterance's last sound."""
    noted: bool = False
    """The utterance was reported as a murmur."""


@dataclass(slots=True)
class SuspendedReply:
    """A reply that the caller cut, as long as it can be brought back."""

    cut_short: bool
    """The provider had not sent all of the reply."""
    false_start: bool = False
    """The reply began to sound before the caller had finished: it counts as unsaid."""
    items: list[SpokenItem] = field(default_factory=list)
    """The part of the reply that was not heard."""


@dataclass(slots=True)
class BargeInState:
    """The speech over a reply, until it is known whether it wants the floor."""

    phase: BargeIn = BargeIn.NONE
    candidate: Candidate | None = None
    """The utterance over a reply that is not decided yet."""
    suspended: SuspendedReply | None = None
    """The reply that the caller's present speech cut."""
