"""Speaking into pauses against letting callers wait, drawn: one chart for each provider, a point for each style.

From left to right: how long after a finished turn the first sound comes (p50, with a line to p95). Upwards: the share
of all pauses that were spoken into. The dashed line is what any fixed wait would give in the same scenes: a first sound
after L milliseconds speaks into every pause longer than L. What lies below and left of it knows more than the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.picture import COLOURS, STYLE
from benchmarks.turn_sense.judge import Outcome, quantile, rate
from benchmarks.turn_sense.plan import TURNS

WIDTH, HEIGHT, GAP, MARGIN, HEAD = 400, 300, 22, 28, 62
LEFT, RIGHT, TOP, BOTTOM = 46, 18, 34, 34
MOST_MS = 1600
EVERY_MS, EVERY_PERCENT = 400, 25


@dataclass(frozen=True, slots=True)
class Point:
    """One style with one provider."""

    style: str
    p50_ms: float
    p95_ms: float
    spoken_into: float
    """Per cent."""


def point(style: str, outcomes: Sequence[Outcome]) -> Point | None:
    """From one run's scenes with one provider; None when they tell too little."""
    waits = [1000 * each.first_sound for each in outcomes if each.first_sound is not None]
    share = rate([pause.spoken_into for each in outcomes for pause in each.pauses])
    p50, p95 = quantile(waits, 0.5), quantile(waits, 0.95)
    return Point(style, p50, p95, share) if p50 is not None and p95 is not None and share is not None else None


def drawing(styles: Mapping[str, Sequence[Outcome]], providers_ms: Sequence[int], title: str) -> str:
    """The whole SVG. `styles`: the judged scenes of each run."""
    width, height = 2 * MARGIN + len(providers_ms) * (WIDTH + GAP) - GAP, HEAD + HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#f8fafc"/>',
        f'<text class="head" x="{MARGIN}" y="32">{escape(title)}</text>',
        f'<text x="{MARGIN}" y="49">pauses spoken into, %, over first sound after a finished turn, ms '
        "(p50, line to p95); dashed: any fixed wait</text>",
    ]
    for number, provider in enumerate(providers_ms):
        of_it = {
            style: [each for each in judged if each.provider_ms == provider and each.scene.kind in TURNS]
            for style, judged in styles.items()
        }
        chart = _chart(of_it, f"provider {provider} ms")
        parts.append(f'<g transform="translate({MARGIN + number * (WIDTH + GAP)} {HEAD})">{chart}</g>')
    return "\n".join([*parts, "</svg>", ""])


def fixed_wait(pauses_ms: Sequence[int]) -> list[tuple[float, float]]:
    """Corners of the dashed line: first sound in milliseconds, per cent of the pauses that are longer."""
    corners: list[tuple[float, float]] = []
    share = 100.0
    for ms in sorted(set(pauses_ms)):
        corners.append((ms, share))
        share = 100 * sum(each > ms for each in pauses_ms) / len(pauses_ms)
        corners.append((ms, share))
    return [(0.0, 100.0), *corners, (float(MOST_MS), 0.0)]


def _chart(styles: Mapping[str, Sequence[Outcome]], title: str) -> str:
    parts = [
        f'<rect class="card" width="{WIDTH}" height="{HEIGHT}" rx="8"/><text class="title" x="14" y="21">{title}</text>'
    ]
    parts += [
        f'<text x="{_x(ms):.0f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{ms}</text>'
        for ms in range(0, MOST_MS + 1, EVERY_MS)
    ]
    for percent in range(0, 101, EVERY_PERCENT):
        y = _y(percent)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{percent}</text>')
    pauses = [pause.ms for each in next(iter(styles.values()), ()) for pause in each.pauses]
    if pauses:
        path = " ".join(f"{_x(ms):.1f},{_y(percent):.1f}" for ms, percent in fixed_wait(pauses))
        parts.append(f'<polyline class="limit" points="{path}" fill="none"/>')
    for (style, outcomes), colour in zip(styles.items(), COLOURS, strict=False):
        found = point(style, outcomes)
        if found is not None:
            parts.append(_drawn(found, colour))
    return "".join(parts)


def _drawn(point: Point, colour: str) -> str:
    x, y = _x(point.p50_ms), _y(point.spoken_into)
    anchor = "end" if x > WIDTH * 0.6 else "start"
    words = f"{point.style} {point.p50_ms:.0f} ms, {point.spoken_into:.0f} %".strip()
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{_x(point.p95_ms):.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="2"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
        f'<text class="key" x="{x:.1f}" y="{y - 8:.1f}" text-anchor="{anchor}" style="fill:{colour}">'
        f"{escape(words)}</text>"
    )


def _x(ms: float) -> float:
    return LEFT + min(ms, MOST_MS) / MOST_MS * (WIDTH - LEFT - RIGHT)


def _y(percent: float) -> float:
    return HEIGHT - BOTTOM - percent / 100 * (HEIGHT - TOP - BOTTOM)
