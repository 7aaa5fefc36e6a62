"""The waits of a run's turns, by their words alone: `python -m benchmarks.turn_sense.waits`.

The scenes of the given seeds are drawn as by `python -m benchmarks.turn_sense`, and nothing is played.
`end_of_turn_wait` judges every pause and every end when its words would be known. The reply sounds when its wait is
over, or when the provider has it. So a thousand turns take seconds, and waits can be compared on seeds for which they
were not chosen. Facts that need sound (the reading of a short utterance) are left out.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from backend.turns.end_of_turn import (
    AskedFor,
    EndpointingStyle,
    PauseContext,
    TurnWait,
    end_of_turn_wait,
    expected_answer,
)
from backend.turns.limits import COMMIT_AFTER_MS
from backend.turns.machine.pending_turn.waiting import (
    CREDIT_MAX,
    CREDIT_PER_TURN,
    DISCARDED_PER_TURN,
    LONG_TURN_MS,
    PREPARE_WAIT_MS,
    RELEASE_MS,
    SHORTEST_PAUSE_MS,
    WHOLE_TURNS,
)
from benchmarks.turn_sense import draw
from benchmarks.turn_sense.judge import quantile
from benchmarks.turn_sense.plan import FINISHED, PAUSES_MS, TURNS, Call, Kind, Scene
from scripts.train_completeness import sentence_ends

WORDS_KNOWN_MS = COMMIT_AFTER_MS + 304
"""The time of a segment's transcript after its last sound."""
ASKED_MS = 305
"""The time of a request after the last sound if the turn is likely over, otherwise when the words are known."""
OVERHEAD_MS = 4
"""The time added to the provider's delay until its first sound has come."""
SLOT_MS = 20
"""A reply is heard in the next slot. In these calls, as on an idle server, slots follow the caller's packets."""
LATE_MS = 2
"""From the caller's last sound until the server has it."""
CHARACTER_MS = {"espeak": 64, "flite": 51, "hibari": 48}
"""Seconds of each family of voices for a written character, at its usual speed."""
ONSETS_MS = (-10, -6, -4, -2, 1, 4, 5, 7, 9, 11, 16, 28, 84)
"""Delays, in equal shares, until a sound of the continuing caller is noticed: until then a reply may begin.

From 456 onsets of seeds 51 and 52; a packet leaves here when the sound in it begins.
"""
SCENES = 400
STYLES = (EndpointingStyle.BALANCED, EndpointingStyle.PATIENT)
"""The providers that wait for words."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A pause, or the end of a turn."""

    scene: Scene
    provider_ms: int
    pause_ms: int
    """0: the turn is over."""
    words: str
    reason: str
    released_ms: int
    """The time at which a reply may sound, and does within a slot."""
    thrown_away: float = 0.0
    """The probability that a reply was prepared, and the caller went on before it sounded."""

    @property
    def first_sound_ms(self) -> int:
        """The time at which it is heard."""
        return -(-self.released_ms // SLOT_MS) * SLOT_MS + 1

    @property
    def spoken_into(self) -> float:
        """The probability that a reply is released before the detector knows that the caller goes on."""
        released = [self.released_ms < self.pause_ms + onset_ms for onset_ms in ONSETS_MS]
        return sum(released) / len(released) if self.pause_ms else 0.0


def judged(seeds: Iterable[int], providers_ms: Sequence[int], style: EndpointingStyle) -> Iterator[Judged]:
    """Every pause and every end of the seeds' turns, with each provider."""
    for seed in seeds:
        for call in draw.calls(seed, SCENES, providers_ms[:1], TURNS):
            for provider_ms in providers_ms:
                yield from _call(call, provider_ms, style)


def _call(call: Call, provider_ms: int, style: EndpointingStyle) -> Iterator[Judged]:
    caller_pauses: list[int] = []
    credit, whole_turns = CREDIT_MAX, WHOLE_TURNS
    character_ms = CHARACTER_MS[call.family] / call.speed
    for scene in call.scenes:
        expected = expected_answer(scene.prompt) if scene.prompt else AskedFor.NOTHING
        spoken = scene.clips[0].spoken[0]
        said, discarded = "", 0
        for piece, pause_ms in zip(spoken.pieces, [*spoken.pauses_ms, 0], strict=True):
            said = f"{said} {piece.lower()}".strip()
            may = discarded < DISCARDED_PER_TURN
            unknown = PauseContext(expected=expected, caller_pauses_ms=tuple(caller_pauses[-16:]))
            early = end_of_turn_wait(unknown, style)
            verdict = end_of_turn_wait(replace(unknown, words=said, sentence_end=_sentence_end(said)), style)
            likely_over = scene.prompt.endswith("?") or len(said) * character_ms >= LONG_TURN_MS
            over_ms = max(WORDS_KNOWN_MS, verdict.wait_ms - RELEASE_MS + LATE_MS)
            if (
                may
                and _may_be_over(early)
                and credit >= (0 if likely_over else 1)
                and (likely_over or whole_turns >= WHOLE_TURNS)
            ):
                asked_ms = ASKED_MS
            elif may and _may_be_over(verdict):
                asked_ms = WORDS_KNOWN_MS
            else:
                asked_ms = over_ms
            released_ms = max(over_ms, asked_ms + provider_ms + OVERHEAD_MS)
            found = Judged(scene, provider_ms, pause_ms, said, verdict.reason, released_ms)
            thrown_away = 1 - found.spoken_into if pause_ms and asked_ms < pause_ms + ONSETS_MS[0] else 0.0
            discarded, credit = discarded + round(thrown_away), credit - thrown_away
            yield replace(found, thrown_away=thrown_away)
            if pause_ms >= SHORTEST_PAUSE_MS:
                caller_pauses.append(pause_ms)
        whole_turns = 0 if spoken.pauses_ms else whole_turns + 1
        credit = min(CREDIT_MAX, credit + CREDIT_PER_TURN)


def _may_be_over(verdict: TurnWait) -> bool:
    return verdict.wait_ms <= PREPARE_WAIT_MS


@cache
def _sentence_end(words: str) -> float:
    return sentence_ends([words])[0]


def rows(found: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """The figures of one provider's turns, with their names."""
    paused = [each for each in found if each.pause_ms]
    for ms in PAUSES_MS:
        some = [each for each in paused if each.scene.kind is Kind.PAUSE and each.pause_ms == ms]
        yield f"pauses of {ms} ms spoken into", _share(some)
    for kind in (Kind.DIGITS, Kind.LIST, Kind.CORRECTION):
        yield f"spoken into: {kind}", _share([each for each in paused if each.scene.kind is kind])
    corrections = [each for each in paused if each.scene.kind is Kind.CORRECTION]
    for label, when in ((draw.ANNOUNCED, "announced before the pause"), ("", "announced after it")):
        yield f"... {when}", _share([each for each in corrections if each.scene.label == label])
    over = [each for each in found if not each.pause_ms]
    quick = [each for each in over if each.scene.kind in FINISHED]
    for what, some in (("first sound", over), ("... quick answers and complete questions", quick)):
        waits = [float(each.first_sound_ms) for each in some]
        figures = (*(quantile(waits, share) for share in (0.5, 0.95)), sum(waits) / len(waits) if waits else None)
        yield what, " / ".join("-" if ms is None else f"{ms:.0f}" for ms in figures) + " ms (p50 / p95 / mean)"
    yield "replies thrown away, per turn", f"{sum(each.thrown_away for each in found) / max(len(over), 1):.2f}"


def _share(some: Sequence[Judged]) -> str:
    into: dict[str, float] = defaultdict(float)
    for each in some:
        into[each.reason] += each.spoken_into
    of_all = f"{100 * sum(into.values()) / len(some):.1f} % of {len(some)}" if some else "-"
    most = sorted(into.items(), key=lambda entry: -entry[1])
    reasons = ", ".join(f"{reason} {times:.1f}" for reason, times in most if times >= 0.5)
    return of_all + (f" ({reasons})" if reasons else "")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turn_sense.waits", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--provider", type=int, nargs="+", default=[0, 500], help="delays in milliseconds")
    parser.add_argument("--style", type=EndpointingStyle, choices=STYLES, default=STYLES[0])
    parser.add_argument("--verbose", action="store_true", help="tell what was spoken into, and how often it was")
    options = parser.parse_args()
    found: dict[int, list[Judged]] = defaultdict(list)
    for each in judged(options.seeds, options.provider, options.style):
        found[each.provider_ms].append(each)
    for provider_ms, some in found.items():
        print(f"\nprovider {provider_ms} ms, {sum(not each.pause_ms for each in some)} turns")
        for what, figure in rows(some):
            print(f"  {what:42} {figure}")
        if options.verbose:
            into = Counter((each.scene.kind, each.reason, each.words) for each in some if each.spoken_into)
            for (kind, reason, words), times in into.most_common():
                print(f"    {times} {kind}, {reason}: {words}")


if __name__ == "__main__":
    main()
