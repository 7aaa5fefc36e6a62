"""One run: a fresh server, a fresh provider, all calls of a plan. Returns the callers' and the provider's records."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx2
import msgspec
import numpy as np

from benchmarks import phone, processes
from benchmarks.processes import usage
from benchmarks.turn_sense.calls import Lateness, Work
from benchmarks.turn_sense.hearing import Sound, heard_in
from benchmarks.turn_sense.plan import Call, Played, ProviderLog

SECONDS = 520.0
"""The time limit of all calls together."""
END_WITHIN_S = 60.0
SETTINGS = {
    "IDLE_DISCONNECT_S": "0",
    "IDLE_NUDGE_S": "600",  # without a nudge for callers who are silent between scenes
}


@dataclass(frozen=True, slots=True)
class Made:
    """One call's results."""

    call: Call
    played: list[Played]
    sound: Sound
    log: ProviderLog
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The results of all calls."""

    calls: list[Made]
    lateness_ms: float
    """The 99th percentile of how late the callers' loop woke."""
    answered_ms: float
    """The 99th percentile of the time of the server's answer to a health check."""
    server_ms: float
    """CPU of the server for a second of a call."""
    rig_percent: float
    """Share of all cores that callers and provider used."""
    notes: list[str] = field(default_factory=list)


def run(
    calls: Sequence[Call],
    folder: Path,
    at_once: int,
    settings: Mapping[str, str],
    tell: Callable[[str], None],
    *,
    telephone: bool = False,
) -> Run:
    """Make the calls, by `telephone` or from a browser. Raises `EOFError`, `TimeoutError` when a process fails."""
    cores = frozenset(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "benchmarks.turn_sense.calls"]
    with (
        provider(cores) as (provider_url, provider_pid),
        processes.server(provider_url, cores, SETTINGS | phone.SETTINGS | dict(settings)) as (url, pid),
        processes.started(command, cores, str(processes.ROOT)) as callers,
    ):
        processes.settle(pid, 20.0)
        work = Work(url, provider_url, str(folder), list(calls), at_once, SECONDS, telephone)
        before, began = {each: usage(each) for each in (pid, provider_pid, callers.process.pid)}, time.monotonic()
        callers.stdin.write(msgspec.json.encode(work) + b"\n")
        callers.stdin.flush()
        lateness = _follow(callers, len(calls), tell)
        lasted = time.monotonic() - began
        spent = {each: usage(each).since(before[each]).cpu_s for each in before}
        answer = httpx2.get(f"{provider_url}/log", timeout=60.0, trust_env=False)
        logs = {log.call: log for log in msgspec.json.decode(answer.content, type=list[ProviderLog])}
    found = [logs.get(call.number) for call in calls]
    with ProcessPoolExecutor(len(cores)) as pool:
        made = list(pool.map(partial(_made, telephone=telephone), calls, [folder] * len(calls), found))
    talked = sum(call.played[-1].ended - call.played[0].began for call in made if call.played)
    notes = [f"{-min(logs)} connections that no call had asked for"] if min(logs, default=0) < 0 else []
    return Run(
        made,
        float(np.quantile(lateness.lateness_ms or [0.0], 0.99)),
        float(np.quantile(lateness.server_ms or [0.0], 0.99)),
        1000 * spent[pid] / max(talked, 1.0),
        100 * (spent[provider_pid] + spent[callers.process.pid]) / lasted / len(cores),
        notes,
    )


@contextmanager
def provider(cores: frozenset[int]) -> Iterator[tuple[str, int]]:
    """The provider's address and pid."""
    command = [sys.executable, "-m", "benchmarks.turn_sense.provider"]
    with processes.started(command, cores, str(processes.ROOT)) as child:
        yield str(json.loads(child.until(b"\n", processes.READY_WITHIN_S))["listening"]), child.process.pid


def _follow(callers: processes.Child, calls: int, tell: Callable[[str], None]) -> Lateness:
    """Wait until all calls are over; returns the load of the machine."""
    over = 0
    while True:
        line = msgspec.json.decode(callers.until(b"\n", SECONDS + END_WITHIN_S))
        if "lateness_ms" in line:
            return msgspec.convert(line, Lateness)
        over += 1
        tell(f"{over} of {calls} calls" + (f"; call {line['over']}: {line['trouble']}" if line["trouble"] else ""))


def _made(call: Call, folder: Path, log: ProviderLog | None, telephone: bool) -> Made:
    """Decode the sound, and match it with the replies."""
    log = log or ProviderLog(call.number)
    played, sound, trouble = heard_in(folder / f"{call.number}.result", log, telephone=telephone)
    return Made(call, played, sound, log, trouble)
