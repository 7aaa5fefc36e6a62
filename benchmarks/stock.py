"""What a call costs here and with aiortc as it comes, side by side: `python -m benchmarks.stock --calls 8`.

A millisecond of CPU means little without the machine it was measured on, and machines are noisy. So both servers are
measured in turns, on the same core, with the same callers: `benchmarks.stock_server`, which takes a call's frames and
plays a reply and does nothing else, and this server with everything it does: a detector, turns, a Responder, history,
a page that follows. Told are the medians, and how often the one goes into the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

from rich.console import Console
from rich.table import Table

from benchmarks import processes, yardstick
from benchmarks.callers import Plan, Talk
from benchmarks.figures import MediaFigures, media_figures
from benchmarks.processes import Cores, usage
from benchmarks.run import IDLE_S, SUBTRACTED, ServerFigures, ServerKind, place, run, server_figures

COLUMNS = ("CPU, ms a call-second", "share of the core, %", "gaps over 40 ms, %", "MB a call")
Figures = tuple[float, float, float, float]


def main() -> int:
    """Measure in turns, and print the table."""
    options = _options()
    processes.leave_on_sigterm()
    cores, console = Cores.available(), Console(width=100)
    rows: dict[str, list[Figures]] = {"aiortc as it comes": [], "this server": []}
    sticks = []
    for seed in range(1, options.rounds + 1):
        sticks.append(yardstick.measured(cores.server))
        for measure, (name, kept) in zip((stock, ours), rows.items(), strict=True):
            kept.append(measure(options.calls, options.seconds, cores, seed))
            console.print(name, *(f"{value:.2f}" for value in kept[-1]), highlight=False)
    table = Table("", *COLUMNS, title=f"{options.calls} calls, on one core; medians")
    medians = [[statistics.median(column) for column in zip(*kept, strict=True)] for kept in rows.values()]
    for name, row in zip(rows, medians, strict=True):
        table.add_row(name, *(f"{value:.2f}" for value in row))
    stick = yardstick.mean(*sticks)
    console.print(table)
    console.print(
        f"This server takes {medians[1][0] / medians[0][0]:.2f} of the CPU that aiortc alone takes. "
        f"Encoding a frame took {stick.encode_us:.0f} µs, a piece of Python {stick.python_us:.0f}.",
        highlight=False,
    )
    return 0


def ours(calls: int, seconds: float, cores: Cores, seed: int) -> Figures:
    """This server, in whole conversations. Raises `EOFError` or `TimeoutError` when a process fails."""
    found = run(calls, seconds, cores, seed, ServerKind())
    return _figures(found.server, found.media)


def stock(calls: int, seconds: float, cores: Cores, seed: int) -> Figures:
    """aiortc as it comes. Raises `EOFError` or `TimeoutError` when a process fails."""
    command = [sys.executable, "-m", "benchmarks.stock_server"]
    with processes.started(command, cores.server, str(processes.ROOT)) as child:
        url = json.loads(child.until(b"\n", processes.READY_WITHIN_S))["listening"]
        watched = {"server": child.process.pid}
        place(Plan(url, 1, 1.0, seed, talk=Talk.CHATTER), cores, watched)
        before = usage(child.process.pid)
        time.sleep(IDLE_S)
        idle = usage(child.process.pid).since(before)
        report, spent = place(Plan(url, calls, seconds, seed, talk=Talk.CHATTER), cores, watched)
    server = server_figures(idle, spent["server"], calls, report.ended - report.began)
    return _figures(server, media_figures(report, (), SUBTRACTED))


def _figures(server: ServerFigures, media: MediaFigures) -> Figures:
    return server.cpu_ms, server.core_percent, media.gaps_percent, server.rss_per_call_mb


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stock", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=8, help="calls at once")
    parser.add_argument("--seconds", type=float, default=15.0, help="for how long, each time")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
