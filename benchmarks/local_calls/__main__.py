"""Calls with everything local: `python -m benchmarks.local_calls times|ramp|over|beside|soak`.

times     how long callers wait for their words and for an answer, with so many calls at once
ramp      the same with more and more calls at one server, until a goal is missed: how many calls the machine carries
over      murmurs and interruptions over long replies, the local Responder's and a scripted provider's, side by side
beside    what two local calls do to the media of calls with another provider: spacing and gaps, alone and beside them
soak      calls for minutes: the memory of every process, which may not grow

local_calls             this: the command line, and the processes of a run
  story_model           a chat model whose answers are long, for `over`
  memory                what each process takes
  judge                 from records to figures
asking                  what the callers do

Server, local Responder and callers share all cores, as on a small machine. A call is placed first that counts for
nothing: it waits until everything has been loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from rich.console import Console

from benchmarks import conversation, processes
from benchmarks.callers import Plan, Talk
from benchmarks.figures import Spread, spread
from benchmarks.local_calls.judge import HEAD, YIELDING_HEAD, Times, times, yielding
from benchmarks.local_calls.memory import Growth, MemoryWatch, faults, table
from benchmarks.processes import Cores
from benchmarks.record import CallersReport
from benchmarks.run import SERVER_SETTINGS, place
from benchmarks.turn_sense import run as turn_sense

LATE_ANSWER_MS, LATE_WORDS_MS = 1200.0, 900.0
"""The goals: the median first sound of an answer, and the 95th percentile of the words on the page."""
WARMING_S = 8.0
GROWTH = Growth(each_mb=8.0, pool_mb=900.0)
Tell = Callable[[str], None]


def main() -> int:
    """Measure and print tables in Markdown. Returns the exit status: 1 where a bound was broken."""
    options = _options()
    processes.leave_on_sigterm()
    console = Console(width=200)

    def tell(words: str) -> None:
        console.print(words, markup=False, highlight=False, soft_wrap=True)

    cores = frozenset(options.cores or os.sched_getaffinity(0))
    commands = {
        "times": measure_times,
        "ramp": measure_ramp,
        "over": measure_over,
        "beside": measure_beside,
        "soak": soak,
    }
    return commands[options.what](options, Cores(cores, cores), tell)


def measure_times(options: argparse.Namespace, cores: Cores, tell: Tell) -> int:
    """One row for each number of calls."""
    rows: list[str] = []
    late: list[str] = []
    for calls, seconds in options.calls:
        with local_server(cores, calls) as (url, pid), MemoryWatch(pid, tell) as watch:
            report, spent = place(Plan(url, calls, seconds, seed=2, talk=Talk.ASK), cores, {"server": pid})
        found = times(report)
        rows.append(found.row())
        cpu = sum(each.cpu_s for each in spent.values()) / (report.ended - report.began) / len(cores.server)
        tell(f"{calls} calls: {100 * cpu:.0f} % of {len(cores.server)} cores, callers included; {found.troubles}")
        tell(table(watch.samples, seconds))
        if is_late(found):
            late.append(f"{calls} calls are answered late.")
    tell("\n".join([HEAD, *rows, *late]))
    return int(bool(late))


def measure_ramp(options: argparse.Namespace, cores: Cores, tell: Tell) -> int:
    """One row for each number of calls at the same server, up to the first that is answered late or in troubles."""
    rows: list[str] = []
    carried = 0
    with local_server(cores, max(calls for calls, _ in options.calls)) as (url, pid):
        for calls, seconds in options.calls:
            plan = Plan(url, calls, seconds, seed=calls, talk=Talk.ASK)
            report, spent = place(plan, cores, {"server": pid})
            found = times(report)
            rows.append(found.row())
            cpu = sum(each.cpu_s for each in spent.values()) / (report.ended - report.began) / len(cores.server)
            tell(f"{calls} calls: {100 * cpu:.0f} % of {len(cores.server)} cores, callers included; {found.troubles}")
            if is_late(found) or found.troubles:
                break
            carried = calls
    tell("\n".join([HEAD, *rows]))
    tell(f"{carried} calls are answered in time.")
    return int(not carried)


def is_late(found: Times) -> bool:
    """Return whether a goal was missed. Words that are shown count: final they are when the turn is over."""
    return found.answer.p50 > LATE_ANSWER_MS or found.shown.p95 > LATE_WORDS_MS


def measure_over(options: argparse.Namespace, cores: Cores, tell: Tell) -> int:
    """Local calls and scripted ones at the same time, so that both have the same machine."""
    (calls, seconds), *_ = options.calls
    with ExitStack() as stack:
        story = stack.enter_context(story_model(cores))
        local, _ = stack.enter_context(local_server(cores, calls, LOCAL_MODEL_URL=story, LOCAL_MODEL="story"))
        knowing, _ = stack.enter_context(turn_sense.provider(cores.others))
        scripted, _ = stack.enter_context(processes.server(knowing, cores.server, SERVER_SETTINGS))
        plans = {
            "local Responder": Plan(local, calls, seconds, seed=3, talk=Talk.OVER),
            "scripted peer": Plan(scripted, calls, seconds, seed=3, talk=Talk.OVER, knowing_url=knowing),
        }
        with ThreadPoolExecutor() as pool:
            reports = list(pool.map(lambda plan: place(plan, cores, {})[0], plans.values()))
    tell(YIELDING_HEAD)
    for name, report in zip(plans, reports, strict=True):
        tell(yielding(report.calls).row(name))
        tell(_troubles(report))
    return 0


def measure_beside(options: argparse.Namespace, cores: Cores, tell: Tell) -> int:
    """The scripted provider's calls first alone, then beside local calls; one server each."""
    (calls, seconds), *_ = options.calls
    tell("| calls with a provider | spacing p50 / p99 / worst, ms | gaps over 40 ms, % |\n|---|---:|---:|")
    with (
        local_server(cores, calls) as (local, _),
        processes.provider(conversation.script(), cores.others) as (provider, _),
        processes.server(provider, cores.server, SERVER_SETTINGS) as (url, _),
    ):
        plan = Plan(url, options.others, seconds, seed=4)
        place(Plan(url, 1, 1.0, seed=1), cores, {})
        tell(_spacing("alone", place(plan, cores, {})[0]))
        busy = threading.Thread(target=place, args=(Plan(local, calls, seconds + 6, 5, talk=Talk.ASK), cores, {}))
        busy.start()
        tell(_spacing(f"beside {calls} local calls", place(plan, cores, {})[0]))
        busy.join()
    return 0


def soak(options: argparse.Namespace, cores: Cores, tell: Tell) -> int:
    """Calls for as long as it is asked for; what each process took, and what grew."""
    (calls, seconds), *_ = options.calls
    with local_server(cores, calls) as (url, pid):
        with MemoryWatch(pid, tell) as watch:
            report, _ = place(Plan(url, calls, seconds, seed=6, soak=True, talk=Talk.ASK), cores, {})
        tell(table(watch.samples, seconds))
    tell(f"{sum(len(call.said) for call in report.calls)} utterances; the server's own last sound → first sound:")
    tell(f"{_told(report)}; {sum(call.troubles for call in report.calls)} rounds went wrong. {_troubles(report)}")
    found = faults(watch.samples, seconds, GROWTH)
    tell("\n".join(found) or f"Flat over {seconds / 60:g} minutes.")
    return int(bool(found))


@contextmanager
def local_server(cores: Cores, calls: int, **settings: str) -> Iterator[tuple[str, int]]:
    """A server with a local Responder for so many calls, warmed up: its address and pid."""
    env = SERVER_SETTINGS | {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "LOCAL_CALLS": str(calls), **settings}
    with processes.server("", cores.server, env) as (url, pid):
        processes.settle(pid, 20.0)
        place(Plan(url, 1, WARMING_S, seed=1, soak=True, talk=Talk.ASK), cores, {})
        yield url, pid


@contextmanager
def story_model(cores: Cores) -> Iterator[str]:
    """The address of a chat model that tells a long story."""
    command = [sys.executable, "-m", "benchmarks.local_calls.story_model"]
    with processes.started(command, cores.others, str(processes.ROOT)) as child:
        yield str(json.loads(child.until(b"\n", processes.READY_WITHIN_S))["listening"])


def _spacing(name: str, report: CallersReport) -> str:
    found = times(report)
    return (
        f"| {name} | {found.spacing.p50:.1f} / {found.spacing.p99:.1f} / {found.spacing.worst:.1f}"
        f" | {found.gaps_percent:.2f} |\n{_troubles(report)}"
    )


def _told(report: CallersReport) -> str:
    told: Spread = spread(
        legs["first_sound_ms"] / 1000 for call in report.calls for legs in call.told if "first_sound_ms" in legs
    )
    return f"{told.count} answers, p50 {told.p50:.0f}, p95 {told.p95:.0f} ms"


def _troubles(report: CallersReport) -> str:
    return " ".join(sorted({call.trouble for call in report.calls if call.trouble}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_calls", description="Measure local calls.")
    parser.add_argument("what", choices=["times", "ramp", "over", "beside", "soak"])
    parser.add_argument("--calls", type=_calls, default=_calls("2x60"), help="calls x seconds, e.g. 1x180,3x45")
    parser.add_argument("--others", type=int, default=4, help="beside: calls with the scripted provider")
    parser.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")], help="unset: all")
    return parser.parse_args()


def _calls(text: str) -> list[tuple[int, float]]:
    pairs = (part.split("x") for part in text.split(","))
    return [(int(calls), float(seconds)) for calls, seconds in pairs]


if __name__ == "__main__":
    sys.exit(main())
