"""From judged scenes to the rows of the table, each with its goal and the scenes that failed it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.table import Table

from benchmarks.turn_sense.draw import ANNOUNCED
from benchmarks.turn_sense.judge import HOLE_S, LONG_HOLE_S, Outcome, Spent, quantile, rate
from benchmarks.turn_sense.plan import FINISHED, PAUSES_MS, TAKES_FLOOR, TURNS, Kind

AT_ONCE_MS, SLOW_MS = 0, 500
"""The providers for which there are goals."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    what: str
    provider: str
    count: int
    value: float | None
    unit: str = "%"
    goal: float | None = None
    least: bool = False
    """The goal is a minimum, not a maximum."""
    beside: str = ""
    failed: list[Outcome] = field(default_factory=list)

    @property
    def met(self) -> bool | None:
        """None: there is no goal, or nothing to judge."""
        if self.goal is None or self.value is None:
            return None
        return self.value >= self.goal if self.least else self.value <= self.goal

    @property
    def shown(self) -> str:
        """The figure with its unit."""
        if self.value is None:
            return "–"
        if math.isinf(self.value):
            return "never"
        digits = 2 if self.unit == "" else 1 if self.unit == "a minute" or 0 < self.value < 10 else 0
        return f"{self.value:.{digits}f} {self.unit}".strip()

    @property
    def goal_shown(self) -> str:
        """With its direction."""
        return "" if self.goal is None else f"{'≥' if self.least else '≤'} {self.goal:g} {self.unit}".strip()


def rows(spent: Sequence[Spent], outcomes: Sequence[Outcome], providers_ms: Sequence[int]) -> list[Row]:
    """All figures."""
    clear = [each for each in outcomes if not each.void]
    found: list[Row] = []
    for provider in providers_ms:
        turns = [each for each in clear if each.provider_ms == provider and each.scene.kind in TURNS]
        found += _spoken_into(turns, provider)
        found += _answers(turns, provider)
    for provider in providers_ms:
        found.append(_thrown([each for each in spent if each.provider_ms == provider], provider))
    found += _during_replies(clear)
    found += _rooms(clear)
    found.append(_void(outcomes))
    return [row for row in found if row.count]


def table(found: Sequence[Row], title: str) -> Table:
    """For a terminal."""
    shown = Table("", "provider", "n", "here", "goal", "", "", title=title, title_justify="left")
    for row in found:
        mark = {None: "", True: "[green]met[/]", False: "[red]not met[/]"}[row.met]
        shown.add_row(row.what, row.provider, str(row.count), row.shown, row.goal_shown, mark, row.beside)
    return shown


def _spoken_into(turns: Sequence[Outcome], provider: int) -> Iterator[Row]:
    goals = {AT_ONCE_MS: {300: 1, 600: 3, 800: 8, 1000: 15}, SLOW_MS: {300: 0, 600: 0, 800: 5, 1000: 10}}
    name = f"{provider} ms"
    for ms in PAUSES_MS:
        pauses = [(pause, each) for each in _of(turns, Kind.PAUSE) for pause in each.pauses if pause.ms == ms]
        yield _rate(
            f"spoken into a mid-sentence pause of {ms} ms",
            name,
            [(not pause.spoken_into, each) for pause, each in pauses],
            goals.get(provider, {}).get(ms),
            bad=True,
        )
    for kind, what in ((Kind.DIGITS, "dictated digits"), (Kind.CORRECTION, "a self-correction"), (Kind.LIST, "a list")):
        goal = {AT_ONCE_MS: 10, SLOW_MS: 3}.get(provider) if kind is not Kind.LIST else None
        pauses = [(pause, each) for each in _of(turns, kind) for pause in each.pauses]
        judged = [(not pause.spoken_into, each) for pause, each in pauses]
        yield _rate(f"spoken into {what}", name, judged, goal, bad=True)
        if kind is Kind.CORRECTION:
            for label, when in (
                (ANNOUNCED, 'that is announced before the pause ("no sorry")'),
                ("", "announced after it"),
            ):
                some = [(good, each) for good, each in judged if each.scene.label == label]
                yield _rate(f"… {when}", name, some, None, bad=True)


def _answers(turns: Sequence[Outcome], provider: int) -> Iterator[Row]:
    name = f"{provider} ms"
    paused = [each for each in turns if each.pauses]
    judged = [(bool(each.one_answer), each) for each in paused]
    yield _rate("one answer to all that was said, after pauses", name, judged, 97, least=True)
    unbroken = [(bool(each.one_answer) and not each.false_starts, each) for each in paused]
    yield _rate("… and none that was cut before it", name, unbroken, None, least=True)
    whole = [(not each.lost_words, each) for each in turns]
    yield _rate("turns of which some words never reached the provider", name, whole, None, bad=True)
    goals = {AT_ONCE_MS: (600, 900, 450), SLOW_MS: (900, 1200, None)}.get(provider, (None, None, None))
    answered = [each for each in turns if each.first_sound is not None]
    yield from _latency("first sound after a finished turn", name, answered, goals[:2])
    quick = [each for each in answered if each.scene.kind in FINISHED]
    yield from _latency("… quick answers and complete questions", name, quick, (goals[2], None))
    unanswered = [(bool(each.one_answer or each.first_sound), each) for each in turns if not each.pauses]
    yield _rate("finished turns without a pause answered once", name, unanswered, None, least=True)


def _latency(what: str, provider: str, answered: Sequence[Outcome], goals: Sequence[float | None]) -> Iterator[Row]:
    values = [1000 * each.first_sound for each in answered if each.first_sound is not None]
    for share, goal in zip((0.5, 0.95), goals, strict=True):
        slow = [each for each in answered if goal is not None and 1000 * (each.first_sound or 0) > goal]
        p = quantile(values, share)
        yield Row(f"{what}, p{100 * share:.0f}", provider, len(values), p, "ms", goal, failed=slow)


def _thrown(spent: Sequence[Spent], provider: int) -> Row:
    said, thrown = sum(each.said for each in spent), sum(each.thrown for each in spent)
    tokens, all_tokens = sum(each.thrown_tokens for each in spent), sum(each.tokens for each in spent)
    beside = f"{tokens / max(said, 1):.0f} tokens a turn, {100 * tokens / max(all_tokens, 1):.0f} % of all"
    what = "replies prepared and thrown away, per turn"
    return Row(what, f"{provider} ms", said, thrown / said if said else None, "", 0.35, beside=beside)


def _during_replies(clear: Sequence[Outcome]) -> Iterator[Row]:
    taking = _of(clear, *TAKES_FLOOR)
    down = [1000 * each.down for each in taking if each.down is not None]
    for share, goal in ((0.5, 90.0), (0.95, 160.0)):
        slow = [each for each in taking if each.down is not None and 1000 * each.down > goal]
        p = quantile(down, share)
        what = f"turned down after an interruption's onset, p{100 * share:.0f}"
        yield Row(what, "", len(down), p, "ms", goal, failed=slow)
    yielded = [(not math.isinf(each.silent or 0), each) for each in taking if each.silent is not None]
    yield _rate("yields for good to a real interruption", "", yielded, 98, least=True)
    stops = [each for each in taking if each.scene.label == "stop"]
    rest = [each for each in taking if each.scene.label != "stop"]
    for what, some, goal in (("silent after an onset", rest, 800.0), ('… "stop" and "wait"', stops, 600.0)):
        values = [1000 * each.silent for each in some if each.silent is not None]
        slow = [each for each in some if each.silent is not None and 1000 * each.silent > goal]
        for share, judged in ((0.5, goal), (0.95, None)):
            p = quantile(values, share)
            yield Row(f"{what}, p{100 * share:.0f}", "", len(values), p, "ms", judged, failed=slow if judged else [])
    for what, some, goal in (
        ("goes on through a backchannel, no hole", _of(clear, Kind.BACKCHANNEL), 90),
        ("goes on through a cough, laugh, um", _of(clear, Kind.NOISE), 85),
        ("goes on through a muffled aside", _of(clear, Kind.MUFFLED), 65),
    ):
        yield _rate(what, "", [(_whole(each, HOLE_S), each) for each in some], goal, least=True)
        yield _rate("… with holes", "", [(each.goes_on, each) for each in some], None, least=True)
    judged_equal = [(_whole(each, LONG_HOLE_S), each) for each in _of(clear, Kind.EQUAL)]
    yield _rate("goes on after an equal aside, tool, hole ≤ 1.2 s", "", judged_equal, 60, least=True)
    for noise in ("cough", "laugh", "um"):
        some = [each for each in _of(clear, Kind.NOISE) if each.scene.label == noise]
        yield _rate(f"… through a {noise}", "", [(_whole(each, HOLE_S), each) for each in some], None, least=True)


def _whole(each: Outcome, hole_s: float) -> bool:
    return each.goes_on and each.up_again and max(each.holes, default=0.0) <= hole_s


def _rooms(clear: Sequence[Outcome]) -> Iterator[Row]:
    for kind, label, goal in (
        (Kind.BABBLE, "20", None),
        (Kind.BABBLE, "10", 90),
        (Kind.BABBLE, "5", 70),
        (Kind.MUSIC, "12", None),
    ):
        some = [each for each in _of(clear, kind) if each.scene.label == label]
        flags = [(answered, each) for each in some for answered in each.answered]
        row = _rate(f"questions answered in {kind} {label} dB below", "", flags, goal, least=True)
        late = quantile([1000 * late for each in some for late in each.late], 0.5)
        beside = f"{late:.0f} ms after their end, {sum(each.cut for each in some)} cut" if late is not None else ""
        yield Row(row.what, "", row.count, row.value, "%", row.goal, True, beside, row.failed)
    for kind, goal in ((Kind.OTHER_VOICE, 3), (Kind.ROOM_ALONE, 1), (Kind.MUSIC_ALONE, None)):
        some = _of(clear, kind)
        minutes = sum(each.seconds for each in some) / 60
        turns = sum(each.false_turns for each in some)
        label = some[0].scene.label if some else ""
        what, failed = f"false turns, {kind} at -{label} dB", [each for each in some if each.false_turns]
        yield Row(what, "", len(some), turns / minutes if some else None, "a minute", goal, failed=failed)


def _void(outcomes: Sequence[Outcome]) -> Row:
    void = [each for each in outcomes if each.void]
    share = rate([bool(each.void) for each in outcomes])
    return Row("scenes that say nothing: no reply to speak into, or a lost call", "", len(outcomes), share, failed=void)


def _rate(
    what: str,
    provider: str,
    judged: Sequence[tuple[bool, Outcome]],
    goal: float | None,
    *,
    least: bool = False,
    bad: bool = False,
) -> Row:
    """`judged`: whether each went well. `bad`: the figure is the share of those that did not."""
    failed = [each for good, each in judged if not good]
    value = rate([good != bad for good, _ in judged])
    return Row(what, provider, len(judged), value, "%", goal, least, failed=failed)


def _of(outcomes: Sequence[Outcome], *kinds: Kind) -> list[Outcome]:
    return [each for each in outcomes if each.scene.kind in kinds]
