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
from benchmarks.processes import Cores
from benchmarks.run import Run, run

MOST_CALLS = 500
MOST_SECONDS = 3600.0


def main() -> int:
    """Measure and print. Returns the exit status: 1 when a call failed."""
    options = _options()
    console = Console()
    cores = Cores.available()
    if cores.server == cores.others:
        console.print("Only one core: server, callers and Responder share it, and the figures show it.")
    runs: dict[int, list[Run]] = {calls: [] for calls in options.calls}
    for repeat in range(options.repeat):
        for calls in options.calls:
            result = run(calls, options.seconds, cores, seed=repeat + 1)
            runs[calls].append(result)
            for trouble in result.media.troubles:
                console.print(f"a call failed: {trouble}", markup=False)
            latency = report.spread_text(result.media.added_latency)
            console.print(
                f"{calls} calls, run {repeat + 1}: added latency {latency}; {result.server.cpu_ms:.1f} ms CPU"
            )
    console.print(report.table(dict(runs)))
    if options.markdown:
        sys.stdout.write(report.markdown(dict(runs)) + "\n")
    if options.json:
        report.save(options.json, dict(runs), options.seconds, cores)
    return int(any(each.media.failed for results in runs.values() for each in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description="Measure whole calls.")
    parser.add_argument("--calls", type=_numbers, default=[1, 8], help="numbers of calls at once, e.g. 1,8,16")
    parser.add_argument("--seconds", type=_seconds, default=40.0, help="how long each run is measured")
    parser.add_argument("--repeat", type=int, default=1, choices=range(1, 21), metavar="1-20", help="runs of each")
    parser.add_argument("--json", type=Path, help="save every figure of every run here")
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
