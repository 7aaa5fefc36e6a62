"""Figures as a table for people and as JSON for machines.

With repeated runs a measured figure shows its median, and a count of faults shows the sum over all runs: a median would
hide the one run in three that failed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shlex
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.figures import Spread
from benchmarks.processes import Cores
from benchmarks.ramp import counted
from benchmarks.run import Run, as_json

PACKAGES = ("aiortc", "aioice", "numpy", "uvloop", "websockets", "uvicorn")

Find = Callable[[Run], float | None]
Row = tuple[str, Find, str]
SUM = "sum"
"""Stands for a format: a count, added up over the runs."""
WORST = "worst"
"""Stands for a format: the greatest of all runs."""
ROWS: tuple[Row, ...] = (
    ("added latency p50, ms", lambda r: r.media.added_latency.p50, ".0f"),
    ("added latency p95, ms", lambda r: r.media.added_latency.p95, ".0f"),
    ("added latency p99, ms", lambda r: r.media.added_latency.p99, ".0f"),
    ("  detector, corridor, commit, ms", lambda r: r.media.legs.to_provider if r.media.legs else None, ".0f"),
    ("  the Responder itself, ms", lambda r: r.media.legs.provider if r.media.legs else None, ".0f"),
    ("  playout and wire, ms", lambda r: r.media.legs.to_caller if r.media.legs else None, ".0f"),
    ("  end-of-turn wait, as the server measures it, ms", lambda r: r.turn_metrics.get("end_of_turn_ms"), ".0f"),
    ("barge-in p50, ms", lambda r: r.media.barge_in.p50, ".0f"),
    ("barge-in p95, ms", lambda r: r.media.barge_in.p95, ".0f"),
    ("barge-in with late audio p50, ms", lambda r: r.media.barge_in_late.p50, ".0f"),
    ("barge-in with late audio p95, ms", lambda r: r.media.barge_in_late.p95, ".0f"),
    ("audible packets after the silence", lambda r: r.media.leaks, SUM),
    ("RTP spacing p50, ms", lambda r: r.media.spacing.p50, ".1f"),
    ("RTP spacing p99, ms", lambda r: r.media.spacing.p99, ".1f"),
    ("gaps over 40 ms, %", lambda r: r.media.gaps_percent, ".3f"),
    ("20 ms slots skipped", lambda r: r.media.slots_skipped, SUM),
    ("packets lost", lambda r: r.media.packets_lost, SUM),
    ("samples lost in the chirps", lambda r: r.media.samples_lost, SUM),
    ("samples repeated in the chirps", lambda r: r.media.samples_repeated, SUM),
    ("CPU per call-second, ms", lambda r: r.server.cpu_ms, ".1f"),
    ("  Redis, ms", lambda r: r.server.redis_cpu_ms, ".2f"),
    ("share of the core used, %", lambda r: r.server.core_percent, ".1f"),
    ("memory per call, MB", lambda r: r.server.rss_per_call_mb, ".2f"),
    ("set-up p50, ms", lambda r: r.media.setup.p50, ".0f"),
    ("calls that failed", lambda r: r.media.failed, SUM),
    ("turns too many", lambda r: r.media.turns_split, SUM),
    ("replies prepared and thrown away", lambda r: r.media.discarded, SUM),
    ("answers measured", lambda r: r.media.added_latency.count, SUM),
    ("rig: callers and Responder, % of the other cores", lambda r: r.rig_percent, ".0f"),
    ("  callers, ms of CPU per call-second", lambda r: r.callers_cpu_ms, ".1f"),
    ("  Responder, ms of CPU per call-second", lambda r: r.responder_cpu_ms, ".1f"),
    ("yardstick: encoding a frame on the server's core, µs", lambda r: r.yardstick.encode_us, ".0f"),
    ("yardstick: a piece of Python there, µs", lambda r: r.yardstick.python_us, ".0f"),
    ("disturbance: waited for the core, ms per call-second", lambda r: r.server.waited_ms, ".1f"),
    ("disturbance: callers' loop late p99, ms", lambda r: r.media.callers_lateness.p99, ".1f"),
    ("disturbance: callers' loop late, worst of all runs, ms", lambda r: r.media.callers_lateness.worst, WORST),
)
"""The rows of the table: a name, how to find it in a run, its format."""


def table(runs: Mapping[int, Sequence[Run]], where: str) -> Table:
    """A column for each number of calls. `where`: the cores of each process."""
    repeats = max(len(each) for each in runs.values())
    title = where + (f", {repeats} runs: medians, and sums of what is counted" if repeats > 1 else "")
    shown = Table(title=title)
    shown.add_column("", no_wrap=True)
    for calls in runs:
        shown.add_column(counted(calls), justify="right")
    for name, find, form in ROWS:
        shown.add_row(name, *(cell(find, each, form) for each in runs.values()))
    return shown


def width(runs: Mapping[int, Sequence[Run]]) -> int:
    """The width of the table in characters."""
    return max(len(name) for name, _, _ in ROWS) + 12 * len(runs) + 8


def markdown(runs: Mapping[int, Sequence[Run]], where: str, words: str, arguments: Sequence[str]) -> str:
    """The same, for a page, with the command, the machine, and the result of a ramp."""
    about = machine()
    lines = [
        f"`python -m benchmarks.calls {shlex.join(arguments)}`, {datetime.now(UTC):%Y-%m-%d}: {where}.",
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}, {about['system']}.",
        *([f"**{words}**"] if words else []),
        "",
        *rows_of(runs),
    ]
    return "\n".join(lines)


def rows_of(runs: Mapping[int, Sequence[Run]]) -> list[str]:
    """The table as Markdown."""
    lines = ["| | " + " | ".join(map(counted, runs)) + " |"]
    lines.append("|---|" + "---:|" * len(runs))
    for name, find, form in ROWS:
        cells = (cell(find, each, form) for each in runs.values())
        lines.append(f"| {name.replace('  ', '… ')} | " + " | ".join(cells) + " |")
    return lines


def save(path: Path, runs: Mapping[int, Sequence[Run]], seconds: float, cores: Cores, words: str = "") -> None:
    """Every run, every figure, and the machine."""
    document = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "cores": {"server": sorted(cores.server), "others": sorted(cores.others)},
        "seconds": seconds,
        "conclusion": words,
        "runs": [as_json(run) for each in runs.values() for run in each],
    }
    path.write_text(json.dumps(_without_nan(document), indent=1) + "\n")


def machine() -> dict[str, Any]:
    """The machine."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "packages": {name: version(name) for name in PACKAGES},
    }


def cell(find: Find, runs: Sequence[Run], form: str) -> str:
    """One figure of repeated runs, as the table shows it."""
    values = [value for run in runs if (value := find(run)) is not None and not math.isnan(value)]
    if not values:
        return "–"
    if form in (SUM, WORST):
        return f"{sum(values) if form == SUM else max(values):.0f}"
    return format(statistics.median(values), form)


def middle(find: Find, runs: Sequence[Run]) -> float | None:
    """The median over the runs that have the figure."""
    values = [value for run in runs if (value := find(run)) is not None and not math.isnan(value)]
    return statistics.median(values) if values else None


def spread_text(spread: Spread) -> str:
    """In one line."""
    return (
        f"p50 {spread.p50:.0f}, p95 {spread.p95:.0f}, p99 {spread.p99:.0f}, worst {spread.worst:.0f} of {spread.count}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _without_nan(value: Any) -> Any:
    """Null for NaN, which JSON lacks: nothing was measured."""
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
