"""What one measured call leaves behind: moments and packets, no judgement. Written by `callers`, read by `figures`.

All moments are seconds on the machine's steady clock (`time.monotonic`), which every process on it shares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """Why the caller spoke."""

    QUESTION = "question"
    INTERRUPTION = "interruption"
    """Into a reply, whose provider stops at once."""
    LATE_INTERRUPTION = "late_interruption"
    """Into a reply, whose provider sends on for a while after it was cancelled."""


@dataclass(slots=True)
class Utterance:
    """One thing said: when its first and its last packet were handed to the sender. Noted once it has been said."""

    kind: Kind
    began: float
    ended: float


@dataclass(slots=True)
class Packets:
    """What was received, in the order of arrival; columns of equal length."""

    at: list[float] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    timestamp: list[int] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    """The loudest sample of each packet, decoded (0 to 32,767)."""
    ends: list[bool] = field(default_factory=list)
    """Whether it has no content, which says that nothing follows until there is something to hear."""


@dataclass(slots=True)
class CallMeasurements:
    """One call."""

    setup_s: float
    """From posting the offer until the connection stands."""
    said: list[Utterance] = field(default_factory=list)
    packets: Packets = field(default_factory=Packets)
    chirps: int = 0
    """Replies of a known chirp, heard to their end."""
    lost: int = 0
    """Samples of those that never came."""
    repeated: int = 0
    glitches: int = 0
    told: list[dict[str, float]] = field(default_factory=list)
    """The server's own `turn_metrics`."""
    transcribed: list[float] = field(default_factory=list)
    """When the page got the final words of something the caller said."""
    shown: list[float] = field(default_factory=list)
    """When the page got further words of the caller's."""
    discarded: int = 0
    """Replies that the server prepared and threw away, since it heard the caller go on."""
    trouble: str = ""
    """Why the call went wrong, if it did; its figures are left out then."""
    troubles: int = 0
    """How many rounds went wrong: in a soak, which goes on, there may be several."""


@dataclass(slots=True)
class CallersReport:
    """What the callers' process saw."""

    calls: list[CallMeasurements]
    began: float
    """All calls stand, and have settled: measuring begins."""
    ended: float
    lateness_ms: list[float]
    """How late the callers' own event loop woke, every 50 ms: what they cannot see better than."""


@dataclass(frozen=True, slots=True)
class ProviderTurn:
    """One answer in the Responder's own log: when it was asked for, and when its first audio left."""

    asked: float
    answered: float


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """One connection in the Responder's own log."""

    turns: tuple[ProviderTurn, ...]
    asked: int
    """Replies that the server asked for."""


def encode(report: CallersReport) -> bytes:
    """As JSON."""
    return msgspec.json.encode(report)


def decode(data: bytes) -> CallersReport:
    """Back from JSON. Raises `msgspec.ValidationError`."""
    return msgspec.json.decode(data, type=CallersReport)
