"""One run: a fresh server, a fresh Responder, N calls; its cost, and the callers' figures."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import msgspec

from benchmarks import conversation, phone, processes, yardstick
from benchmarks.callers import FINISH_WITHIN_S, By, Plan
from benchmarks.figures import MediaFigures, Settings, media_figures
from benchmarks.measurements import CallersReport, decode
from benchmarks.processes import Child, Cores, Usage, usage
from benchmarks.provider_log import provider_calls
from benchmarks.yardstick import Yardstick

HANGOVER_FRAMES = 15
SERVER_SETTINGS = {"VAD__HANGOVER_FRAMES": str(HANGOVER_FRAMES)}
SUBTRACTED = Settings(hangover_s=HANGOVER_FRAMES * 0.02, provider_delay_s=conversation.PROVIDER_DELAY_MS / 1000)
IDLE_S = 3.0
"""Seconds in which the server is watched without a call, after one that has warmed it up."""
SHARING_NICE = 5
"""The priority that the server yields to callers on its cores: a shortage shows in the server, not in them."""
SETTLE_WITHIN_S = 40.0
"""Seconds for several processes to start."""
WARMING_CALLS = 4
"""Calls for each of several processes: the kernel distributes connections by chance."""
PLACE_WITHIN_S = 20.0
"""Seconds for starting the callers, and again for every call's set-up and for judging its sound."""


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """The server's cost, per call and second of call unless stated."""

    cpu_ms: float
    """CPU of the server's processes in milliseconds, user and system, less their use without a call."""
    idle_cpu_ms: float
    """CPU per second without a call."""
    redis_cpu_ms: float
    """CPU of the embedded Redis."""
    waited_ms: float
    """Time in which they were ready to run but another process had the core: the disturbance of the run."""
    core_percent: float
    """Used share of the server's core, or cores, Redis included."""
    rss_idle_mb: float
    """Resident memory after one call, before the run's first."""
    rss_per_call_mb: float


@dataclass(frozen=True, slots=True)
class Run:
    """All results of one run."""

    media: MediaFigures
    server: ServerFigures
    turn_metrics: dict[str, float]
    """Medians of the server's own `turn_metrics`, in milliseconds."""
    callers_cpu_ms: float
    """CPU of the callers' process per call-second."""
    responder_cpu_ms: float
    """CPU of the scripted Responder per call-second."""
    rig_percent: float
    """Share of the other cores that callers and Responder used: near 100, the measurement measures itself."""
    yardstick: Yardstick
    """The speed of the server's core: the mean of before and after."""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """The settings of the measured server."""

    workers: int = 1
    endpointing: str = "balanced"
    """ENDPOINTING: how soon a reply may sound."""
    reader: bool = True
    """UTTERANCES__ENABLED: a process reads what short utterances say."""
    by: By = By.WEBRTC
    """How callers reach it."""

    def settings(self) -> dict[str, str]:
        """Return its environment."""
        own = {"WORKERS": str(self.workers), "ENDPOINTING": self.endpointing}
        own["UTTERANCES__ENABLED"] = str(self.reader)
        return SERVER_SETTINGS | own | (phone.SETTINGS if self.by is By.TWILIO else {})

    def plan(self, url: str, calls: int, seconds: float, seed: int) -> Plan:
        """Return the plan of its callers."""
        return Plan(url, calls, seconds, seed, by=self.by)


def run(calls: int, seconds: float, cores: Cores, seed: int, kind: ServerKind) -> Run:
    """Measure `calls` calls for `seconds`. Raises `EOFError` or `TimeoutError` when a process fails."""
    nice = SHARING_NICE if cores.server == cores.others else 0
    workers = kind.workers
    warming = WARMING_CALLS * workers if workers > 1 else 1
    before_it = yardstick.measured(cores.server)
    with (
        processes.provider(conversation.script(), cores.others) as (provider_url, provider_pid),
        processes.server(provider_url, cores.server, kind.settings(), nice) as (url, pid),
    ):
        watched = {"server": pid, "provider": provider_pid}
        if workers > 1:
            processes.settle(pid, SETTLE_WITHIN_S)  # the first of them prints that it listens, not the last
        place(kind.plan(url, warming, 1.0, seed), cores, watched)  # warms up what is loaded at the first call
        before = usage(pid)
        time.sleep(IDLE_S)
        idle = usage(pid).since(before)
        report, spent = place(kind.plan(url, calls, seconds, seed), cores, watched)
        logs = provider_calls(provider_url, time.time() - time.monotonic())[warming:]
    lasted = report.ended - report.began
    rig_cpu = spent["provider"].cpu_s + spent["callers"].cpu_s
    return Run(
        media=media_figures(report, logs if len(logs) == calls else (), SUBTRACTED),
        server=server_figures(idle, spent["server"], calls, lasted, len(cores.server)),
        turn_metrics=_turn_metrics(report),
        callers_cpu_ms=1000 * spent["callers"].cpu_s / lasted / calls,
        responder_cpu_ms=1000 * spent["provider"].cpu_s / lasted / calls,
        rig_percent=100 * rig_cpu / lasted / len(cores.others),
        yardstick=yardstick.mean(before_it, yardstick.measured(cores.server)),
    )


def server_figures(idle: Usage, spent: Usage, calls: int, seconds: float, cores: int = 1) -> ServerFigures:
    """Per call and second; `idle` covers `IDLE_S` seconds without calls. `cores`: how many the server has."""
    call_seconds = calls * seconds
    idle_cpu = idle.cpu_s / IDLE_S
    return ServerFigures(
        cpu_ms=1000 * (spent.cpu_s - idle_cpu * seconds) / call_seconds,
        idle_cpu_ms=1000 * idle_cpu,
        redis_cpu_ms=1000 * spent.redis_cpu_s / call_seconds,
        waited_ms=1000 * spent.waited_s / call_seconds,
        core_percent=100 * (spent.cpu_s + spent.redis_cpu_s) / seconds / cores,
        rss_idle_mb=idle.rss / 1e6,
        rss_per_call_mb=(spent.rss - idle.rss) / 1e6 / calls,
    )


def as_json(result: Run) -> dict[str, object]:
    """Plain data."""
    return asdict(result)


def place(plan: Plan, cores: Cores, watched: Mapping[str, int]) -> tuple[CallersReport, dict[str, Usage]]:
    """Run the callers' process. Returns its report, and the use of it and the `watched` pids during the measurement."""
    command = [sys.executable, "-m", "benchmarks.callers"]
    with processes.started(command, cores.others, str(processes.ROOT)) as callers:
        callers.stdin.write(msgspec.json.encode(plan) + b"\n")
        callers.stdin.flush()
        pids = {**watched, "callers": callers.process.pid}
        _phase(callers, "connected", PLACE_WITHIN_S * (1 + plan.calls))
        _phase(callers, "measuring", PLACE_WITHIN_S)
        before = {name: usage(pid) for name, pid in pids.items()}
        _phase(callers, "measured", plan.seconds + PLACE_WITHIN_S)
        spent = {name: usage(pid).since(before[name]) for name, pid in pids.items()}
        report = callers.until(b"\n", FINISH_WITHIN_S + PLACE_WITHIN_S * (1 + plan.calls))
    return decode(report), spent


def _phase(callers: Child, phase: str, within_s: float) -> None:
    line = callers.until(b"\n", within_s)
    assert msgspec.json.decode(line) == {"phase": phase}, line[:200]


def _turn_metrics(report: CallersReport) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for call in report.calls:
        for legs in call.turn_metrics:
            for name, value in legs.items():
                columns.setdefault(name, []).append(value)
    return {name: sorted(values)[len(values) // 2] for name, values in columns.items()}
