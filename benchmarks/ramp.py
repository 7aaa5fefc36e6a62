"""The number of calls that one core carries: more and more of them until the rule breaks, then closer and closer. Pure.

The rule: p99 of the added latency less than 100 ms above the median of a single call, gaps over 40 ms under 1 % of all
packets, nothing lost, no call failed. Numbers double until one breaks it. Then the middle between the highest that held
and the lowest that broke is tried, until they are within a tenth of each other.

No machine is quite undisturbed. If the rule broke although the server's core had room, or the measurement itself was
the limit, the same number is tried once more: a disturbance makes figures worse, never better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.figures import MediaFigures

ALLOWED_MS = 100.0
ALLOWED_GAPS_PERCENT = 1.0
RIG_FULL_PERCENT = 90.0
RIG_LATE_MS = 25.0
"""A caller that cannot send on time, or record the arrival of sound on time, measures itself."""
CLOSE_ENOUGH = 0.1
"""Of the answer."""
FULL_PERCENT = 85.0
"""Share of the server's core: a server that used as much has shown its limit."""


@dataclass(frozen=True, slots=True)
class Try:
    """One run of a ramp, judged."""

    calls: int
    broken: str
    """What broke the rule; empty when it held."""
    fault: str
    """Why that may not be the server's limit; empty when it is."""

    def in_words(self) -> str:
        """In a sentence."""
        if not self.broken:
            return f"{counted(self.calls)} hold."
        perhaps = f" Perhaps not the server's doing: {self.fault}." if self.fault else ""
        return f"{counted(self.calls)} do not hold: {self.broken}.{perhaps}"


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule for a number of calls that a server carries."""

    single_median_ms: float

    def broken_by(self, media: MediaFigures) -> str:
        """The broken parts of the rule, in words; empty when it holds."""
        over = media.added_latency.p99 - self.single_median_ms
        if media.failed:
            return f"{media.failed} calls failed"
        if not over < ALLOWED_MS:
            return f"p99 added latency {over:.0f} ms over the single call's median"
        if media.gaps_percent >= ALLOWED_GAPS_PERCENT:
            return f"{media.gaps_percent:.2f} % gaps"
        if media.packets_lost or media.samples_lost or media.samples_repeated:
            return f"{media.packets_lost} packets and {media.samples_lost + media.samples_repeated} samples wrong"
        return ""


def rig_at_fault(rig_percent: float, media: MediaFigures) -> str:
    """Why a broken rule shows nothing about the server: callers or Responder were the limit. Otherwise empty."""
    if rig_percent > RIG_FULL_PERCENT:
        return f"callers and Responder used {rig_percent:.0f} % of their cores"
    if media.callers_lateness.p99 > RIG_LATE_MS:
        return f"the callers' own event loop was {media.callers_lateness.p99:.0f} ms late (p99)"
    return ""


def judged(calls: int, rule: Rule, media: MediaFigures, core_percent: float, rig_percent: float) -> Try:
    """Judge a run by the rule."""
    broken = rule.broken_by(media)
    fault = rig_at_fault(rig_percent, media)
    if not fault and core_percent < FULL_PERCENT:
        fault = f"it used {core_percent:.0f} % of its core"
    return Try(calls, broken, fault if broken else "")


def conclusion(tries: Sequence[Try], where: str) -> str:
    """The result of a ramp, in words."""
    held = verdicts(tries)
    found = answer(held)
    verdict = f"{counted(found)} hold the rule with {where}"
    above = [each for each in tries if each.calls == min((n for n, good in held.items() if not good), default=None)]
    return f"{verdict}. {above[-1].in_words()}" if above else f"{verdict}; more were not tried."


def counted(calls: int) -> str:
    """A number of calls, in words."""
    return f"{calls} call{'' if calls == 1 else 's'}"


def verdicts(tries: Sequence[Try]) -> dict[int, bool]:
    """Whether each number held: the last try counts."""
    return {each.calls: not each.broken for each in tries}


def next_number(held: Mapping[int, bool], start: int, most: int) -> int | None:
    """The number of calls to try next, given which numbers held the rule; None when the answer is near enough."""
    best = max((number for number, good in held.items() if good), default=0)
    broke = min((number for number, good in held.items() if not good), default=None)
    if broke is None:
        following = best * 2 if best >= start else start
        return min(following, most) if best < most else None
    if broke <= best or broke - best <= max(1, CLOSE_ENOUGH * best):
        return None
    middle = (best + broke) // 2
    return middle if middle not in held else None


def answer(held: Mapping[int, bool]) -> int:
    """The most calls that held, with none fewer that broke."""
    broke = min((number for number, good in held.items() if not good), default=None)
    return max((number for number, good in held.items() if good and (broke is None or number < broke)), default=0)
