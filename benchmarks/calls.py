"""What whole calls cost and how they sound: `python -m benchmarks.calls`, or `make bench`.

benchmarks.calls        this: the command line, one run after another
  run                   one run: starts the processes, reads what the server spent
    processes           the offline Responder and the callers on some cores, the server alone on another
    callers             a process of its own: real WebRTC peers, each a `caller` having a `conversation`
    provider_log        what the Responder saw, and when
  record, chirp         what a call leaves behind; whether a known sound arrived whole
  figures               from records to figures, pure
  report                the table, the JSON
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks import report
from benchmarks.picture import picture
from benchmarks.processes import Cores
from benchmarks.ramp import Rule, answer, next_number, rig_at_fault
from benchmarks.run import Run, run

MOST_CALLS = 500
MOST_SECONDS = 3600.0
RAMP_START = 8


def main() -> int:
    """Measure and print. Returns the exit status: 1 when a call failed outside a ramp."""
    options = _options()
    bench = Bench(options.seconds)
    if bench.cores.server == bench.cores.others:
        bench.console.print("Only one core: server, callers and Responder share it, and the figures show it.")
    if options.ramp:
        climb(bench, options.most)
    else:
        for _ in range(options.repeat):
            for calls in options.calls:
                bench.measure(calls)
    Console(width=max(bench.console.width, report.width(bench.runs))).print(report.table(bench.runs))
    if options.markdown:
        sys.stdout.write(report.markdown(bench.runs) + "\n")
    if options.json:
        report.save(options.json, bench.runs, options.seconds, bench.cores)
    if options.svg:
        options.svg.write_text(picture(bench.runs))
    failed = any(each.media.failed for results in bench.runs.values() for each in results)
    return int(failed and not options.ramp)


class Bench:
    """Runs one after another, and keeps what they gave."""

    def __init__(self, seconds: float) -> None:
        self.console = Console()
        self.cores = Cores.available()
        self.seconds = seconds
        self.runs: dict[int, list[Run]] = {}

    def __repr__(self) -> str:
        return f"Bench({ {calls: len(runs) for calls, runs in self.runs.items()} })"

    def measure(self, calls: int) -> Run:
        """One run, told in a line."""
        runs = self.runs.setdefault(calls, [])
        result = run(calls, self.seconds, self.cores, seed=len(runs) + 1)
        runs.append(result)
        latency = report.spread_text(result.media.added_latency)
        self.console.print(
            f"{calls} calls: added latency {latency} ms; {result.server.cpu_ms:.1f} ms CPU a call-second"
        )
        for trouble in result.media.troubles:
            self.console.print(f"a call failed: {trouble}", markup=False)
        return result


def climb(bench: Bench, most: int) -> None:
    """The ramp: the most calls that keep to its rule."""
    rule = Rule(bench.measure(1).media.added_latency.p50)
    held: dict[int, bool] = {}
    while (calls := next_number(held, RAMP_START, most)) is not None:
        result = bench.measure(calls)
        broken = rule.broken_by(result.media)
        held[calls] = not broken
        bench.console.print(f"{calls} calls {'hold' if held[calls] else f'do not hold: {broken}'}")
        if broken and (fault := rig_at_fault(result.rig_percent, result.media)):
            bench.console.print(f"The measurement's limit, perhaps not the server's: {fault}.")
    bench.runs = dict(sorted(bench.runs.items()))
    bench.console.print(f"[bold]{answer(held)} calls[/] on one core.")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description="Measure whole calls.")
    parser.add_argument("--calls", type=_numbers, default=[1, 8], help="numbers of calls at once, e.g. 1,8,16")
    parser.add_argument("--seconds", type=_seconds, default=40.0, help="how long each run is measured")
    parser.add_argument("--repeat", type=int, default=1, choices=range(1, 21), metavar="1-20", help="runs of each")
    parser.add_argument("--json", type=Path, help="save every figure of every run here")
    parser.add_argument("--svg", type=Path, help="draw the figures here")
    parser.add_argument("--ramp", action="store_true", help="look for the most calls one core carries, instead")
    parser.add_argument("--most", type=int, default=MOST_CALLS, help="the ramp goes no further than this")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, too")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if not all(1 <= number <= MOST_CALLS for number in numbers):
        raise argparse.ArgumentTypeError(f"numbers of calls go from 1 to {MOST_CALLS}")
    return numbers


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 5 <= seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"a run lasts 5 to {MOST_SECONDS:.0f} seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
