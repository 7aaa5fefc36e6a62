"""The figures of several numbers of calls as one SVG: small charts, side by side, with nothing but lines and words.

Each chart has the number of calls on its horizontal axis, by its logarithm, and starts at nought on the vertical one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.report import middle
from benchmarks.run import Run

WIDTH, HEIGHT, GAP = 300, 190, 24
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 34, 30
"""Room around the lines, within a chart."""
COLUMNS = 2
COLOURS = ("#2563eb", "#dc2626")
STYLE = "text{font:11px system-ui,sans-serif;fill:#334155}.title{font-weight:600;font-size:12px}.grid{stroke:#e2e8f0}"

Find = Callable[[Run], float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a title with its unit, and its lines by name."""

    title: str
    lines: tuple[tuple[str, Find], ...]


CHARTS = (
    Chart(
        "added latency, ms",
        (("p50", lambda r: r.media.added_latency.p50), ("p99", lambda r: r.media.added_latency.p99)),
    ),
    Chart(
        "barge-in, ms", (("p50", lambda r: r.media.barge_in.p50), ("late audio", lambda r: r.media.barge_in_late.p50))
    ),
    Chart("CPU per call-second, ms", (("server", lambda r: r.server.cpu_ms),)),
    Chart("share of the core used, %", (("server", lambda r: r.server.core_percent),)),
    Chart("RTP spacing, ms", (("p50", lambda r: r.media.spacing.p50), ("p99", lambda r: r.media.spacing.p99))),
    Chart("memory per call, MB", (("server", lambda r: r.server.rss_per_call_mb),)),
)


def picture(runs: Mapping[int, Sequence[Run]]) -> str:
    """The whole SVG."""
    rows = math.ceil(len(CHARTS) / COLUMNS)
    width, height = COLUMNS * (WIDTH + GAP) + GAP, rows * (HEIGHT + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Calls through one server on one core</title>",
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, chart in enumerate(CHARTS):
        row, column = divmod(number, COLUMNS)
        x, y = GAP + column * (WIDTH + GAP), GAP + row * (HEIGHT + GAP)
        parts.append(f'<g transform="translate({x} {y})">{draw(chart, runs)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def draw(chart: Chart, runs: Mapping[int, Sequence[Run]]) -> str:
    """One chart, its upper left corner at 0, 0."""
    lines = [(name, _points(find, runs)) for name, find in chart.lines]
    top = nice_top(max((value for _, points in lines for _, value in points), default=1.0))
    parts = [f'<text class="title" x="0" y="12">{escape(chart.title)}</text>', _scale(top, list(runs))]
    for (name, points), colour in zip(lines, COLOURS, strict=False):
        places = [(_x(calls, list(runs)), _y(value, top)) for calls, value in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places]
        at = WIDTH - RIGHT - 70 * (1 + [line for line, _ in lines].index(name))
        parts.append(f'<text x="{at}" y="12" style="fill:{colour}">{escape(name)}</text>')
    return "".join(parts)


def nice_top(value: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 … that is not below `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value)


def _points(find: Find, runs: Mapping[int, Sequence[Run]]) -> list[tuple[int, float]]:
    found = ((calls, middle(find, each)) for calls, each in sorted(runs.items()))
    return [(calls, value) for calls, value in found if value is not None]


def _scale(top: float, numbers: Sequence[int]) -> str:
    parts = []
    for share in (0, 0.5, 1):
        y = _y(top * share, top)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{top * share:g}</text>')
    for calls in numbers:
        x = _x(calls, numbers)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{calls}</text>')
    return "".join(parts)


def _x(calls: int, numbers: Sequence[int]) -> float:
    low, high = math.log(min(numbers)), math.log(max(numbers))
    share = (math.log(calls) - low) / (high - low) if high > low else 0.5
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - max(0.0, value) / top * (HEIGHT - TOP - BOTTOM)
