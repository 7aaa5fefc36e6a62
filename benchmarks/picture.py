"""The figures of several numbers of calls as one SVG: small charts on one sheet, with nothing but lines and words.

Every chart has the number of calls on its horizontal axis and starts at nought on both. A dashed line is what the
ramp's rule allows. A value far beyond that is drawn at the upper edge with its number beside it, so that one
overloaded run does not press all others flat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from benchmarks.ramp import ALLOWED_GAPS_PERCENT, ALLOWED_MS
from benchmarks.report import middle
from benchmarks.run import Run

WIDTH, HEIGHT, GAP, MARGIN, HEAD = 330, 222, 22, 28, 62
LEFT, RIGHT, TOP, BOTTOM = 40, 14, 56, 26
"""Room around the lines, within a chart."""
COLUMNS = 3
COLOURS = ("#1d4ed8", "#c2410c", "#0f766e")
LABELS_APART = 24.0
"""Pixels between neighbouring numbers of calls; nearer ones are left out."""
MOST_OVER_LIMIT = 2.0
"""How many times its limit a chart reaches."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
STYLE = (
    "text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;fill:#475569}"
    ".head{font-size:17px;font-weight:650;fill:#0f172a}.title{font-size:12.5px;font-weight:600;fill:#0f172a}"
    ".key{font-weight:600}.grid{stroke:#e2e8f0}.axis{stroke:#94a3b8}.limit{stroke:#94a3b8;stroke-dasharray:4 3}"
    ".card{fill:#fff;stroke:#e2e8f0}"
)

Find = Callable[[Run], float | None]
Points = list[tuple[int, float]]


class Chart(NamedTuple):
    """One chart: a title with its unit, its lines by name, and what the ramp's rule allows, given all points."""

    title: str
    lines: tuple[tuple[str, Find], ...]
    limit: Callable[[list[Points]], float | None] = lambda _: None


def _above_single(lines: list[Points]) -> float | None:
    """The allowance over the median of a single call, the first line's first point."""
    return lines[0][0][1] + ALLOWED_MS if lines[0] and lines[0][0][0] == 1 else None


CHARTS = (
    Chart(
        "added latency, ms",
        (
            ("p50", lambda r: r.media.added_latency.p50),
            ("p95", lambda r: r.media.added_latency.p95),
            ("p99", lambda r: r.media.added_latency.p99),
        ),
        _above_single,
    ),
    Chart(
        "barge-in, p50, ms",
        (("at once", lambda r: r.media.barge_in.p50), ("with late audio", lambda r: r.media.barge_in_late.p50)),
    ),
    Chart(
        "packets after a gap over 40 ms, %",
        (("gaps", lambda r: r.media.gaps_percent),),
        lambda _: ALLOWED_GAPS_PERCENT,
    ),
    Chart(
        "CPU per call-second, ms", (("server", lambda r: r.server.cpu_ms), ("callers, Responder", lambda r: _rig(r)))
    ),
    Chart(
        "share of their cores used, %",
        (("server", lambda r: r.server.core_percent), ("callers, Responder", lambda r: r.rig_percent)),
        lambda _: 100.0,
    ),
    Chart("memory per call, MB", (("server", lambda r: r.server.rss_per_call_mb),)),
)


def picture(runs: Mapping[int, Sequence[Run]], where: str) -> str:
    """The whole SVG. `where`: who ran on which cores."""
    rows = math.ceil(len(CHARTS) / COLUMNS)
    width = 2 * MARGIN + COLUMNS * WIDTH + (COLUMNS - 1) * GAP
    height = HEAD + rows * HEIGHT + (rows - 1) * GAP + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Calls through one server</title>",
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#f8fafc"/>',
        f'<text class="head" x="{MARGIN}" y="32">Calls through one server</text>',
        f'<text x="{MARGIN}" y="49">{escape(where)}; number of calls from left to right</text>',
    ]
    for number, chart in enumerate(CHARTS):
        row, column = divmod(number, COLUMNS)
        x, y = MARGIN + column * (WIDTH + GAP), HEAD + row * (HEIGHT + GAP)
        parts.append(f'<g transform="translate({x} {y})">{draw(chart, runs)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def draw(chart: Chart, runs: Mapping[int, Sequence[Run]]) -> str:
    """One chart, its upper left corner at 0, 0."""
    lines = [_points(find, runs) for _, find in chart.lines]
    limit = chart.limit(lines)
    frame = Frame.around(lines, limit, max(runs))
    parts = [
        f'<rect class="card" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        f'<text class="title" x="14" y="21">{escape(chart.title)}</text>',
        frame.grid(sorted(runs)),
    ]
    if limit is not None and limit <= frame.top:
        y = frame.y(limit)
        parts.append(f'<line class="limit" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
    at = 14.0
    for (name, _), points, colour in zip(chart.lines, lines, COLOURS, strict=False):
        parts.append(_line(points, colour, frame))
        parts.append(f'<text class="key" x="{at:.0f}" y="37" style="fill:{colour}">{escape(name)}</text>')
        at += 6.2 * len(name) + 14
    return "".join(parts)


class Frame(NamedTuple):
    """From figures to pixels within a chart."""

    most_calls: int
    step: float
    top: float

    @classmethod
    def around(cls, lines: Sequence[Points], limit: float | None, most_calls: int) -> Frame:
        """High enough for all points, but not much higher than a limit."""
        highest = max((value for points in lines for _, value in points), default=1.0)
        if limit is not None:
            highest = min(max(highest, limit), MOST_OVER_LIMIT * limit)
        step = nice_step(highest / 4)
        return cls(most_calls, step, step * max(1, math.ceil(highest / step - 1e-9)))

    def x(self, calls: int) -> float:
        """Where a number of calls is."""
        return LEFT + calls / self.most_calls * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Where a figure is; at the edge what lies beyond."""
        return HEIGHT - BOTTOM - min(max(0.0, value / self.top), 1.0) * (HEIGHT - TOP - BOTTOM)

    def grid(self, numbers: Sequence[int]) -> str:
        """Lines across, and the numbers at both axes."""
        parts = []
        for count in range(round(self.top / self.step) + 1):
            value, y = count * self.step, self.y(count * self.step)
            kind = "grid" if count else "axis"
            parts.append(f'<line class="{kind}" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        for calls in _apart(numbers, self.x):
            x = self.x(calls)
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{calls}</text>')
        return "".join(parts)


def nice_step(value: float) -> float:
    """The smallest of 1, 2, 2.5, 5, 10, 20, 25 … times a power of ten that is not below `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in STEPS if step * power >= value * (1 - 1e-9))


def _line(points: Points, colour: str, frame: Frame) -> str:
    places = [(frame.x(calls), frame.y(value)) for calls, value in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"/>']
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    for (_, value), (x, y) in zip(points, places, strict=True):
        if value > frame.top:
            parts.append(
                f'<text x="{x - 7:.1f}" y="{y + 4:.1f}" text-anchor="end" style="fill:{colour}">{value:.3g} ▲</text>'
            )
    return "".join(parts)


def _apart(numbers: Sequence[int], x: Callable[[int], float]) -> list[int]:
    """Those whose labels do not run into each other; the last one always."""
    chosen: list[int] = []
    for number in reversed(numbers):
        if not chosen or x(chosen[-1]) - x(number) >= LABELS_APART:
            chosen.append(number)
    return chosen[::-1]


def _rig(run: Run) -> float:
    return run.callers_cpu_ms + run.responder_cpu_ms


def _points(find: Find, runs: Mapping[int, Sequence[Run]]) -> Points:
    found = ((calls, middle(find, each)) for calls, each in sorted(runs.items()))
    return [(calls, value) for calls, value in found if value is not None]
