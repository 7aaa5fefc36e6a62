"""The cost and the sound of whole calls: `python -m benchmarks.calls`, or `make bench`.

benchmarks.calls        this: the command line, one run after another
  run                   one run: starts the processes, reads the server's use of the machine
    processes           the offline Responder and the callers on some cores, the server alone on another
    callers             a process of its own: real WebRTC peers, each a `caller` having a `conversation`
    provider_log        the Responder's record, with times
      caller, line      one call; its packets, on `drained` sockets; the `heard` sound, decoded afterwards
      page_reader       the events its page would read
  record, chirp         the record of a call; whether a known sound arrived whole
  figures               from records to figures, pure
  ramp                  the number of calls to try next, pure
  report                the table, the JSON
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console

from backend.turns.end_of_turn import EndpointingStyle
from benchmarks import report
from benchmarks.callers import By
from benchmarks.processes import Cores, leave_on_sigterm
from benchmarks.ramp import Rule, Try, conclusion, counted, judged, next_number, verdicts
from benchmarks.run import Run, ServerKind, run

MOST_CALLS = 500
MOST_SECONDS = 3600.0
SECONDS, RAMP_SECONDS = 40.0, 20.0
"""Seconds that a run is measured by default: a ramp has many runs."""
RAMP_START = 16


def main() -> int:
    """Measure and print. Returns the exit status: 1 when a call failed outside a ramp."""
    options = _options()
    leave_on_sigterm()
    seconds = options.seconds or (RAMP_SECONDS if options.ramp else SECONDS)
    cores = Cores.available(options.workers, shared=options.shared)
    reader = not options.without_reader
    kinds = [ServerKind(options.workers, endpointing=options.endpointing, reader=reader, by=by) for by in options.by]
    benches = [Bench(seconds, cores, kind) for kind in kinds]
    words = [""] * len(benches)
    for bench in benches:
        bench.say(f"{bench.where}; {seconds:g} s a run.")
    if options.ramp:
        words = [climb(bench, options.most) for bench in benches]
    else:
        for _ in range(options.repeat):
            for calls in options.calls:
                for bench in benches:  # in turns, so that a disturbance of the machine hits all of them
                    bench.measure(calls)
    for bench, found in zip(benches, words, strict=True):
        bench.say(found)
        _hand_over(bench, options, found)
    failed = any(each.media.failed for bench in benches for results in bench.runs.values() for each in results)
    return int(failed and not options.ramp)


def _hand_over(bench: Bench, options: argparse.Namespace, words: str) -> None:
    # Of each number in a ramp the last try counts; the JSON has all tries.
    shown = {calls: runs[-1:] if options.ramp else runs for calls, runs in sorted(bench.runs.items())}
    console = Console(width=max(bench.console.width, report.width(shown)))
    console.print(report.table(shown, bench.where))
    if options.markdown:
        sys.stdout.write(report.markdown(shown, bench.where, words, sys.argv[1:]) + "\n")
    several = len(options.by) > 1
    if options.json:
        report.save(_of(options.json, bench, several), bench.runs, bench.seconds, bench.cores, words)


def _of(path: Path, bench: Bench, several: bool) -> Path:
    """A file for each way to call, if several are measured."""
    return path.with_stem(f"{path.stem}-{bench.kind.by}") if several else path


class Bench:
    """Makes runs one after another, and keeps their results."""

    def __init__(self, seconds: float, cores: Cores, kind: ServerKind) -> None:
        self.console = Console()
        self.cores = cores
        self.kind = kind
        self.seconds = seconds
        self.where = cores.described(kind.workers) + f", {kind.endpointing}"
        self.where += "" if kind.by is By.WEBRTC else f", by telephone ({kind.by})"
        self.runs: dict[int, list[Run]] = {}

    def __repr__(self) -> str:
        return f"Bench({ {calls: len(runs) for calls, runs in self.runs.items()} })"

    def say(self, words: str) -> None:
        """A line of progress."""
        self.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def measure(self, calls: int) -> Run:
        """Make one run, and report it in a line."""
        runs = self.runs.setdefault(calls, [])
        result = run(calls, self.seconds, self.cores, len(runs) + 1, self.kind)
        runs.append(result)
        media, server = result.media, result.server
        self.say(
            f"{self.kind.by}, {counted(calls)}: added latency {report.spread_text(media.added_latency)} ms;"
            f" gaps {media.gaps_percent:.2f} %; {server.cpu_ms:.1f} ms CPU a call-second,"
            f" {server.core_percent:.0f} % of its cores; callers and Responder {result.rig_percent:.0f} % of theirs"
        )
        for trouble in media.troubles:
            self.say(f"a call failed: {trouble}")
        return result


def climb(bench: Bench, most: int) -> str:
    """The ramp: the most calls that keep to its rule, in words."""
    began = time.monotonic()
    rule = Rule(bench.measure(1).media.added_latency.p50)
    tries: list[Try] = []
    while (calls := next_number(verdicts(tries), RAMP_START, most)) is not None:
        for _ in range(2):
            result = bench.measure(calls)
            tries.append(judged(calls, rule, result.media, result.server.core_percent, result.rig_percent))
            bench.say(tries[-1].in_words())
            if not tries[-1].fault:
                break
    bench.say(f"{len(tries) + 1} runs in {(time.monotonic() - began) / 60:.1f} minutes.")
    return conclusion(tries, bench.where)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description="Measure whole calls.")
    parser.add_argument("--calls", type=_numbers, default=[1, 8], help="numbers of calls at once, e.g. 1,8,16")
    parser.add_argument(
        "--seconds", type=_seconds, help=f"how long each run is measured ({SECONDS:g}; ramp {RAMP_SECONDS:g})"
    )
    parser.add_argument("--repeat", type=int, default=1, choices=range(1, 21), metavar="1-20", help="runs of each")
    parser.add_argument("--json", type=Path, help="save every figure of every run here")
    parser.add_argument("--ramp", action="store_true", help="look for the most calls it carries, instead")
    parser.add_argument("--most", type=int, default=MOST_CALLS, help="the ramp goes no further than this")
    parser.add_argument("--workers", type=int, default=1, choices=range(1, 65), metavar="1-64", help="server processes")
    parser.add_argument("--shared", action="store_true", help="server, callers and Responder share all cores")
    parser.add_argument("--without-reader", action="store_true", help="UTTERANCES__ENABLED=false")
    parser.add_argument(
        "--endpointing",
        choices=list(EndpointingStyle),
        default=EndpointingStyle.BALANCED,
        help="the server's ENDPOINTING; eager: the latency without its end-of-turn wait",
    )
    parser.add_argument(
        "--by",
        type=_ways,
        default=[By.WEBRTC],
        help="how they call, in turns: webrtc, twilio (by telephone: no page reads along)",
    )
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, too")
    return parser.parse_args()


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if not all(1 <= number <= MOST_CALLS for number in numbers):
        raise argparse.ArgumentTypeError(f"numbers of calls go from 1 to {MOST_CALLS}")
    return numbers


def _ways(text: str) -> list[By]:
    return [By(part) for part in text.split(",")]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 5 <= seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"a run lasts 5 to {MOST_SECONDS:.0f} seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
