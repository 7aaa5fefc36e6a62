"""The record of one measured call: moments and packets, no judgement. Written by `callers`, read by `figures`.

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
    """Into a reply; the provider stops immediately."""
    LATE_INTERRUPTION = "late_interruption"
    """Into a reply; the provider sends on for a while after the cancellation."""


@dataclass(slots=True)
class Utterance:
    """One utterance: when its first and its last packet were handed to the sender. Recorded after its end."""

    kind: Kind
    began: float
    ended: float


@dataclass(slots=True)
class Packets:
    """The received packets, in the order of arrival; columns of equal length."""

    at: list[float] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    timestamp: list[int] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    """The loudest sample of each packet, decoded (0 to 32,767)."""
    ends: list[bool] = field(default_factory=list)
    """Whether it has no content, which announces a pause until the next sound."""


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
    """Samples of the chirps that never came."""
    repeated: int = 0
    glitches: int = 0
    turn_metrics: list[dict[str, float]] = field(default_factory=list)
    """The server's own `turn_metrics`."""
    transcribed: list[float] = field(default_factory=list)
    """The moments of final words on the page."""
    shown: list[float] = field(default_factory=list)
    """The moments of further words on the page."""
    discarded: int = 0
    """Replies that the server prepared and discarded, because the caller went on."""
    trouble: str = ""
    """Why the call failed, if it did; its figures are left out then."""
    troubles: int = 0
    """The number of failed rounds: in a soak, which goes on, there may be several."""


@dataclass(slots=True)
class CallersReport:
    """The record of the callers' process."""

    calls: list[CallMeasurements]
    began: float
    """The moment after all calls have settled, at which measuring begins."""
    ended: float
    lateness_ms: list[float]
    """Delays of the callers' own event loop, every 50 ms: the limit of their precision."""


@dataclass(frozen=True, slots=True)
class ProviderTurn:
    """One answer in the Responder's own log: the moments of its request and its first audio."""

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
