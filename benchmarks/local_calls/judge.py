"""From records to figures about the local Responder. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.figures import AUDIBLE, GAP_S, PACKET_S, Spread, first_audible, spacing, spread
from benchmarks.record import CallersReport, CallRecord, Kind, Utterance

SILENT_PACKETS = 15
"""In a row, 300 ms: a voice pauses for less between two words."""
YIELDED_WITHIN_S = 2.0
"""A reply that sounds longer than this into an interruption has not yielded."""
WATCHED_S = 1.5
"""After a murmur: the time in which the reply has to go on."""
CUT_S = 0.5
"""Silence as long as this is a reply that was cut."""


@dataclass(frozen=True, slots=True)
class Times:
    """What callers of one run waited for, from their last sound."""

    calls: int
    asked: int
    """Questions."""
    shown: Spread
    """To the last of the words on the page."""
    transcript: Spread
    """Until they are final: the turn is over."""
    answer: Spread
    """To the first sound."""
    unanswered: int
    spacing: Spread
    gaps_percent: float
    troubles: tuple[str, ...]

    def row(self) -> str:
        """Return it as a row of Markdown."""
        shown, words, sound = self.shown, self.transcript, self.answer
        return (
            f"| {self.calls} | {self.asked} | {shown.p50:.0f} / {shown.p95:.0f} | {words.p50:.0f} / {words.p95:.0f}"
            f" | {sound.p50:.0f} / {sound.p95:.0f}"
            f" | {self.unanswered} | {self.spacing.p99:.1f} | {self.gaps_percent:.2f} |"
        )


HEAD = (
    "| calls | questions | last sound → all words shown, p50 / p95 ms | → final, p50 / p95 ms"
    " | → first sound, p50 / p95 ms | unanswered | spacing p99, ms | gaps over 40 ms, % |\n"
    "|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def times(report: CallersReport) -> Times:
    """What the callers of a run waited for."""
    asked = [(call, said) for call in report.calls for said in call.said if said.kind is Kind.QUESTION]
    heard = [(said, first_audible(call, said)) for call, said in asked]
    spacings = [gap for call in report.calls for gap in spacing(call.packets)]
    return Times(
        len(report.calls),
        len(asked),
        spread(at - said.ended for call, said in asked if (at := last_words(call, said)) is not None),
        spread(at - said.ended for call, said in asked if (at := final_words(call, said)) is not None),
        spread(at - said.ended for said, at in heard if at is not None),
        sum(at is None for _, at in heard),
        spread(spacings),
        100 * sum(gap > GAP_S for gap in spacings) / max(1, len(spacings)),
        tuple(sorted({call.trouble for call in report.calls if call.trouble})),
    )


def final_words(call: CallRecord, said: Utterance) -> float | None:
    """Return when the words of `said` were final; None if the caller spoke again before."""
    following = min((other.began for other in call.said if other.began > said.began), default=float("inf"))
    return next((at for at in call.transcribed if said.ended <= at < following), None)


def last_words(call: CallRecord, said: Utterance) -> float | None:
    """Return when the page had all words of `said`, which were then final at once or later; None as `final_words`."""
    final = final_words(call, said)
    if final is None:
        return None
    return max((at for at in call.shown if said.began <= at <= final), default=final)


@dataclass(frozen=True, slots=True)
class Yielding:
    """How replies that were spoken over gave way, and which did so without a need."""

    silence: Spread
    """From an interruption's first sound to the reply's silence."""
    interruptions: int
    ignored: int
    """Interruptions that a reply went on under."""
    murmurs: int
    false_starts: int
    """Murmurs that cut a reply."""

    def row(self, name: str) -> str:
        """Return it as a row of Markdown."""
        over = self.silence
        return (
            f"| {name} | {self.interruptions} | {over.p50:.0f} / {over.p95:.0f} / {over.worst:.0f} | {self.ignored}"
            f" | {self.false_starts} of {self.murmurs} |"
        )


YIELDING_HEAD = (
    "| | interruptions | first sound → silence, p50 / p95 / worst ms | ignored | murmurs that cut the reply |\n"
    "|---|---:|---:|---:|---:|"
)


def yielding(calls: Sequence[CallRecord]) -> Yielding:
    """How the replies of these calls gave way."""
    over = [(call, said) for call in calls for said in call.said if said.kind is Kind.INTERRUPTION]
    silenced = [(said, at) for call, said in over if was_sounding(call, said) and (at := silent_from(call, said))]
    took = [at - said.began for said, at in silenced if at - said.began <= YIELDED_WITHIN_S]
    asked = sum(was_sounding(call, said) for call, said in over)
    murmurs = [(call, said) for call in calls for said in call.said if said.kind is Kind.MURMUR]
    murmurs = [(call, said) for call, said in murmurs if was_sounding(call, said)]
    return Yielding(
        spread(took), asked, asked - len(took), len(murmurs), sum(was_cut(call, said) for call, said in murmurs)
    )


def was_sounding(call: CallRecord, said: Utterance) -> bool:
    """Return whether a reply was heard within the last 300 ms before `said`."""
    at = call.packets.at
    first, last = bisect_left(at, said.began - SILENT_PACKETS * PACKET_S), bisect_left(at, said.began)
    return any(peak > AUDIBLE for peak in call.packets.peak[first:last])


def silent_from(call: CallRecord, said: Utterance) -> float | None:
    """Return when the silence began that follows `said`; None if there was none while it could be heard."""
    for begin, end in silences(call, said.began):
        if end - begin >= SILENT_PACKETS * PACKET_S:
            return begin
    return None


def was_cut(call: CallRecord, said: Utterance) -> bool:
    """Return whether the reply stopped within the time in which it had to go on."""
    until = said.ended + WATCHED_S
    return any(end - begin >= CUT_S and begin < until for begin, end in silences(call, said.began) if begin < until)


def silences(call: CallRecord, since: float) -> Iterator[tuple[float, float]]:
    """Yield the stretches between audible packets after `since`; in a pause nothing is sent, so that clocks count."""
    packets = call.packets
    before = since
    for index in range(bisect_left(packets.at, since), len(packets.at)):
        if packets.peak[index] > AUDIBLE:
            if packets.at[index] - before > 2 * PACKET_S:
                yield before, packets.at[index]
            before = packets.at[index] + PACKET_S
    yield before, max(before, packets.at[-1] if packets.at else before)
