"""From records to figures. Pure: other modules measure and print.

Definitions, all at the caller's end of the wire:

- *end of speech*: the moment the packet with the last voiced sample was handed to the sender. Utterances are cut so
  that this sample is the last one of its packet: a microphone would have captured it just then;
- *first reply audio*: the arrival of the first packet after that which decodes to more than silence (`AUDIBLE`);
- *added latency* = first reply audio - end of speech - hangover - the Responder's own configured delay. With
  ENDPOINTING=eager that is the server's share; otherwise it contains the end-of-turn wait;
- *barge-in time*: from handing the first packet of the interrupting speech to the sender, to the arrival of the first
  of `QUIET_PACKETS` packets in a row that decode to silence;
- *leak*: an audible packet after that, while the caller still interrupts: late audio that got through, or a
  reply that ran dry for so long just before its interruption;
- *spacing*: time between arrivals of packets next to each other, unless the first announced a pause; a *gap* is
  one over 40 ms.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from benchmarks.measurements import CallersReport, CallMeasurements, Kind, Packets, ProviderCall, Utterance

AUDIBLE = 200
"""Sample value above which a packet is not silence. The codec's ringing stays below."""
QUIET_PACKETS = 5
"""Silent packets in a row (100 ms) that count as a silenced reply, not as a pause between two words."""
GAP_S = 0.040
PACKET_S = 0.020
LEGS_WITHIN_S = 5.0

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Settings:
    """What has to be subtracted, in seconds."""

    hangover_s: float
    provider_delay_s: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Percentiles of one quantity, in milliseconds, and the number of its values."""

    count: int
    p50: float
    p95: float
    p99: float
    worst: float


@dataclass(frozen=True, slots=True)
class Legs:
    """The parts of added latency, medians in milliseconds; None where the Responder's log could not be matched."""

    to_provider: float
    """End of speech to the request at the Responder, less the hangover: detector, corridor, commit."""
    provider: float
    """Request to first audio at the Responder, less its configured delay: not the server's share."""
    to_caller: float
    """First audio at the Responder to first audible packet: corridor, playout, wire."""


@dataclass(frozen=True, slots=True)
class MediaFigures:
    """All figures of the callers in one run."""

    calls: int
    failed: int
    troubles: tuple[str, ...]
    """Faults, each once."""
    seconds: float
    added_latency: Spread
    legs: Legs | None
    turns_split: int
    """Utterances that the server took for more than one turn: surplus replies that were not discarded in time."""
    discarded: int
    """Replies that were prepared and discarded."""
    barge_in: Spread
    barge_in_late: Spread
    leaks: int
    spacing: Spread
    gaps_percent: float
    packets: int
    packets_lost: int
    """Sequence numbers that never came."""
    slots_skipped: int
    """20 ms slots that the server left out of its timestamps after a stall."""
    chirps: int
    samples_lost: int
    samples_repeated: int
    glitches: int
    setup: Spread
    callers_lateness: Spread
    speaking_percent: float
    """Share of the time in which the caller speaks."""
    hearing_percent: float
    """Share of the time in which it hears something."""


def media_figures(report: CallersReport, provider: Sequence[ProviderCall], settings: Settings) -> MediaFigures:
    """All of them. `provider`: the Responder's log of each call, in the order of the calls; may be empty."""
    good = [call for call in report.calls if not call.trouble]
    during = [_during(call.packets, report.began, report.ended) for call in good]
    spacings = [gap for packets in during for gap in spacing(packets)]
    count = sum(len(packets.at) for packets in during)
    seconds = report.ended - report.began
    return MediaFigures(
        calls=len(report.calls),
        failed=len(report.calls) - len(good),
        troubles=tuple(sorted({call.trouble for call in report.calls if call.trouble})),
        seconds=seconds,
        added_latency=spread(late for call in good for late in added_latencies(call, settings)),
        legs=legs(report.calls, provider, settings),
        turns_split=sum(
            max(0, log.asked - call.discarded - len(call.said))
            for call, log in zip(report.calls, provider, strict=False)
        ),
        discarded=sum(call.discarded for call in good),
        barge_in=spread(took for call in good for took in barge_ins(call, Kind.INTERRUPTION)),
        barge_in_late=spread(took for call in good for took in barge_ins(call, Kind.LATE_INTERRUPTION)),
        leaks=sum(leaks(call) for call in good),
        spacing=spread(spacings),
        gaps_percent=100 * sum(gap > GAP_S for gap in spacings) / max(1, len(spacings)),
        packets=count,
        packets_lost=sum(_jumps(pairwise(packets.sequence), 1, 16) for packets in during),
        slots_skipped=sum(_jumps(_followed(packets, packets.timestamp), 960, 32) for packets in during),
        chirps=sum(call.chirps for call in good),
        samples_lost=sum(call.lost for call in good),
        samples_repeated=sum(call.repeated for call in good),
        glitches=sum(call.glitches for call in good),
        setup=spread(call.setup_s for call in good),
        callers_lateness=spread(late / 1000 for late in report.lateness_ms),
        speaking_percent=100 * _spoken_s(good, report.began, report.ended) / max(1e-9, seconds * len(good)),
        hearing_percent=100 * _heard_s(during) / max(1e-9, seconds * len(good)),
    )


def added_latencies(call: CallMeasurements, settings: Settings) -> list[float]:
    """Seconds, for every utterance that was answered before the caller spoke again."""
    heard = [(said, first_audible(call, said)) for said in call.said]
    return [at - said.ended - settings.hangover_s - settings.provider_delay_s for said, at in heard if at is not None]


def first_audible(call: CallMeasurements, said: Utterance) -> float | None:
    """The moment at which the reply to `said` was first heard; None if the caller spoke again before."""
    following = [other.began for other in call.said if other.began > said.began]
    limit = min(following, default=math.inf)
    packets = call.packets
    for index in range(bisect_left(packets.at, said.ended), len(packets.at)):
        if packets.at[index] >= limit:
            return None
        if packets.peak[index] > AUDIBLE:
            return packets.at[index]
    return None


def barge_ins(call: CallMeasurements, kind: Kind) -> list[float]:
    """Seconds from speech to silence, for every interruption of that kind that silenced the reply."""
    silenced = [(said, silenced_at(call, said)) for said in call.said if said.kind is kind]
    return [call.packets.at[index] - said.began for said, index in silenced if index is not None]


def silenced_at(call: CallMeasurements, said: Utterance) -> int | None:
    """The index of the first packet of the silence after `said`; None if there was none, or no reply before."""
    packets = call.packets
    start = bisect_left(packets.at, said.began)
    if start == 0 or packets.peak[start - 1] <= AUDIBLE:
        return None
    run = 0
    for index in range(start, len(packets.at)):
        run = run + 1 if packets.peak[index] <= AUDIBLE else 0
        if run == QUIET_PACKETS:
            return index - QUIET_PACKETS + 1
    return None


def leaks(call: CallMeasurements) -> int:
    """Audible packets between the silence after an interruption and its own end."""
    found = 0
    for said in call.said:
        index = silenced_at(call, said) if said.kind is not Kind.QUESTION else None
        if index is not None:
            end = bisect_left(call.packets.at, said.ended)
            found += sum(peak > AUDIBLE for peak in call.packets.peak[index:end])
    return found


def spacing(packets: Packets) -> list[float]:
    """Seconds between arrivals, pauses left out."""
    return [later - earlier for earlier, later in _followed(packets, packets.at)]


def legs(calls: Sequence[CallMeasurements], provider: Sequence[ProviderCall], settings: Settings) -> Legs | None:
    """The parts of added latency, each the median over all answers with a match in the Responder's log."""
    parts: list[tuple[float, float, float]] = []
    for call, log in zip(calls, provider, strict=False):
        for said in call.said:
            heard = first_audible(call, said)
            turn = next((t for t in log.turns if said.ended <= t.asked < said.ended + LEGS_WITHIN_S), None)
            if heard is not None and turn is not None and turn.answered <= heard:
                to_provider = turn.asked - said.ended - settings.hangover_s
                thinking = turn.answered - turn.asked - settings.provider_delay_s
                parts.append((to_provider, thinking, heard - turn.answered))
    if not parts:
        return None
    first, second, third = (percentile(sorted(column), 50) * 1000 for column in zip(*parts, strict=True))
    return Legs(first, second, third)


def spread(seconds: Iterable[float]) -> Spread:
    """In milliseconds. NaN without values."""
    ordered = sorted(value * 1000 for value in seconds)
    return Spread(len(ordered), *(percentile(ordered, share) for share in (50, 95, 99, 100)))


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that `share` percent of all do not exceed (nearest rank)."""
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share / 100 * len(ordered)) - 1)]


def _during(packets: Packets, began: float, ended: float) -> Packets:
    first, last = bisect_left(packets.at, began), bisect_left(packets.at, ended)
    columns = (packets.at, packets.sequence, packets.timestamp, packets.peak, packets.ends)
    return Packets(*(column[first:last] for column in columns))  # type: ignore[arg-type]


def _followed(packets: Packets, column: Sequence[Number]) -> Iterator[tuple[Number, Number]]:
    """The values of consecutive packets, unless the first announced a pause."""
    return (pair for pair, ends in zip(pairwise(column), packets.ends[:-1], strict=True) if not ends)


def _jumps(neighbours: Iterable[tuple[int, int]], step: int, bits: int) -> int:
    """The number of missing steps in a counter of `bits` bits; steps back are reorderings of the network."""
    missing = 0
    for earlier, later in neighbours:
        ahead = (later - earlier) % (1 << bits)
        if step < ahead < 1 << (bits - 1):
            missing += ahead // step - 1
    return missing


def _heard_s(packets: Iterable[Packets]) -> float:
    return PACKET_S * sum(peak > AUDIBLE for each in packets for peak in each.peak)


def _spoken_s(calls: Sequence[CallMeasurements], began: float, ended: float) -> float:
    return sum(max(0.0, min(said.ended, ended) - max(said.began, began)) for call in calls for said in call.said)
