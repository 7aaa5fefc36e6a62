"""Calls for any length of time, and whether anything grows: `python -m benchmarks.soak --calls 8 --minutes 30`.

The callers, Responder and server are those of `benchmarks.calls`, except that a caller begins the next round after a
failed one. Every ten seconds the server is measured from outside: its resident memory, threads, open files and sockets.
The first third is for warming up: modules are loaded at their first use, and buffers fill (a call's events for the page
take about eight minutes). After that the median of the last third may be higher than that of the first by `--growth-mb`
a call, by two files and one thread. Exit status 1 otherwise. A busy machine disturbs only the calls; the output lists
the failed rounds and their causes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import psutil
from rich.console import Console

from benchmarks import conversation, processes
from benchmarks.callers import Plan
from benchmarks.measurements import CallersReport
from benchmarks.processes import Cores
from benchmarks.run import SERVER_SETTINGS, place

EVERY_S = 10.0
WARM_UP = 1 / 3
"""Share of the run."""
MOST_MINUTES = 24 * 60

Column = Literal["memory_mb", "files", "threads"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at the server."""

    at_s: float
    memory_mb: float
    files: int
    """Open files and sockets."""
    threads: int


def main() -> int:
    """Run, report, judge."""
    options = _options()
    processes.leave_on_sigterm()
    console, samples = Console(), list[Sample]()
    cores, seconds = Cores.available(), options.minutes * 60
    with (
        processes.provider(conversation.script(), cores.others) as (provider_url, _),
        processes.server(provider_url, cores.server, SERVER_SETTINGS) as (url, pid),
    ):
        over = threading.Event()
        watcher = threading.Thread(target=watch, args=(pid, over, samples, console), daemon=True)
        place(Plan(url, 1, 5.0, seed=1), cores, {})
        watcher.start()
        report, _ = place(Plan(url, options.calls, seconds, seed=2, soak=True), cores, {})
        over.set()
        watcher.join()
    faults = grown(warm(samples, seconds), options.growth_mb * options.calls)
    console.print(heard(report), markup=False)
    for fault in faults:
        console.print(fault, markup=False)
    console.print("[red]Something grows.[/]" if faults else f"Flat over {options.minutes:g} minutes.")
    return int(bool(faults))


def watch(pid: int, over: threading.Event, samples: list[Sample], console: Console) -> None:
    """Sample every ten seconds, and report each minute."""
    server, began = psutil.Process(pid), time.monotonic()
    while not over.wait(EVERY_S):
        try:
            sample = look(server, time.monotonic() - began)
        except psutil.NoSuchProcess:
            return
        samples.append(sample)
        if len(samples) % 6 == 1:
            seen = f"{sample.memory_mb:7.1f} MB  {sample.files} files  {sample.threads} threads"
            console.print(f"{sample.at_s / 60:5.1f} min  {seen}")


def look(server: psutil.Process, at_s: float) -> Sample:
    """One sample."""
    with server.oneshot():
        return Sample(at_s, server.memory_info().rss / 1e6, server.num_fds(), server.num_threads())


def heard(report: CallersReport) -> str:
    """The outcome of the calls, in words."""
    calls = report.calls
    said, wrong = sum(len(call.said) for call in calls), sum(call.troubles for call in calls)
    lost, chirps = sum(call.lost + call.repeated for call in calls), sum(call.chirps for call in calls)
    summary = f"{said} utterances in {len(calls)} calls; {wrong} rounds went wrong."
    reasons = sorted({call.trouble for call in calls if call.trouble})
    return " ".join([summary, f"{lost} samples lost or repeated in the last {chirps} answers.", *reasons])


def warm(samples: Sequence[Sample], seconds: float) -> list[Sample]:
    """Those after the first third of the run."""
    return [sample for sample in samples if sample.at_s >= seconds * WARM_UP]


def grown(samples: Sequence[Sample], allowed_mb: float) -> list[str]:
    """The quantities with a higher median in the last third than in the first; empty without any. Pure."""
    if len(samples) < 6:
        return ["too few samples to judge: let it run for longer"]
    third = len(samples) // 3
    first, last = samples[:third], samples[-third:]
    bounds: tuple[tuple[Column, float, str], ...] = (
        ("memory_mb", allowed_mb, "MB of memory"),
        ("files", 2, "files and sockets"),
        ("threads", 1, "threads"),
    )
    return [
        f"{name} grew from {before:.1f} to {after:.1f}"
        for column, allowed, name in bounds
        if (after := middle(last, column)) - (before := middle(first, column)) > allowed
    ]


def middle(samples: Sequence[Sample], column: Column) -> float:
    """The median of one figure."""
    return statistics.median(float(getattr(sample, column)) for sample in samples)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description="Let calls run, and see what grows.")
    parser.add_argument("--calls", type=int, default=8, help="calls at once")
    parser.add_argument("--minutes", type=_minutes, default=30.0, help="how long")
    parser.add_argument("--growth-mb", type=float, default=0.25, help="memory a call may grow by, megabytes")
    return parser.parse_args()


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 2.5 <= minutes <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"from 2.5 to {MOST_MINUTES} minutes")
    return minutes


if __name__ == "__main__":
    sys.exit(main())
