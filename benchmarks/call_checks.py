"""What the checks of strangers cost a whole call: `python -m benchmarks.call_checks`, under two minutes.

A call in which nobody speaks, so that the noise of the audio path (5 % of a call) does not hide them: a session is
opened, its WebSocket connected, the greeting begun, and the call ended. Two servers of this source tree have such
calls in short turns, one of them with its checks switched off (`benchmarks.unchecked`); whoever is first changes from
round to round. What is done again and again while a call lasts is timed by itself, over a Redis of its own, for one
call alone, which bears all of it. Compared is processor time, Redis included; the share is given of a spoken call, as
measured by `benchmarks.security_checks`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

import httpx2
from rich.console import Console
from websockets.asyncio.client import connect

from backend.budgets.budgets import Budgets
from backend.budgets.day_counts import DayCounts
from backend.budgets.metered import LOOK_EVERY_S, CallMeter
from backend.budgets.new_users import NewUsers
from backend.budgets.payers import Payers
from backend.budgets.permits import RENEW_EVERY_S, PermitKind, Permits
from backend.budgets.usage import Payer
from backend.settings.budgets import BudgetSettings
from backend.storage.embedded import open_memory
from benchmarks.processes import SERVE, Cores, exact_cpu_s, provider, server, settle
from benchmarks.security_checks import CALL_S, LIMITS

UNCHECKED = "from benchmarks.unchecked import main, switch_off; switch_off(); main()"
SCRIPT = {"turns": [{"reply": {"text": "It is sunny.", "tone": {"hz": 440, "ms": 200}}}]}
GREETING = {"GREETING": "Hello."}
CALLS = 25
"""Calls of one round, one after the other."""
SPOKEN_CALL_MS = 175.0
"""Processor time of a call of nine seconds with a spoken question; see docs/performance.md."""
TIMES = 300
CONSOLE = Console(width=140, highlight=False)


async def calls(url: str) -> None:
    """Place the calls of one round, as one user."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        for _ in range(CALLS):
            async with asyncio.timeout(20):
                await call(http)


async def call(http: httpx2.AsyncClient) -> None:
    """Open a session, connect, wait for the greeting's first sound, and end the call."""
    session = (await http.post("/api/sessions", json={})).raise_for_status().json()
    address = f"{str(http.base_url).replace('http', 'ws', 1)}/ws/{session['session_id']}"
    async with connect(address, proxy=None, compression=None) as socket:
        await socket.send(json.dumps({"type": "token", "token": session["token"]}))
        async for message in socket:
            if json.loads(message)["type"] == "audio":
                break
        await socket.send('{"type": "bye"}')


def call_ms(url: str, pid: int) -> float:
    """Return what a call costs the server and its Redis, in ms of processor time."""
    before = exact_cpu_s(pid)
    asyncio.run(calls(url))
    return 1000 * (exact_cpu_s(pid) - before) / CALLS


def measure(servers: list[tuple[str, int]], rounds: int) -> list[list[float]]:
    """Return what a call cost each server, a figure a round."""
    costs: list[list[float]] = [[], []]
    for address, _ in servers:  # whatever is done once in a process's life
        asyncio.run(calls(address))
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            costs[which].append(call_ms(*servers[which]))
    return costs


async def while_it_lasts_ms() -> float:
    """Return what the meter, the day counts and the permits of one call cost, in ms of processor time a second."""
    with tempfile.TemporaryDirectory() as folder:
        opened = await open_memory(None, Path(folder))
        try:
            settings = BudgetSettings()  # type: ignore[call-arg]
            redis, now = opened.redis, [0.0]
            new_users = NewUsers(redis, new_s=0, keep_s=0, retention_s=None)
            budgets = Budgets(DayCounts(redis), Payers(redis), Permits(redis, settings), new_users, settings)
            payer, meter = Payer("ada", "203.0.113.7"), CallMeter(budgets, {}, lambda: now[0])
            async with (
                budgets.permits.hold(PermitKind.CALLS, payer, "call"),
                meter.metering("call", payer, lambda reason: None),
            ):
                charged = await _timed(lambda: _look(meter, budgets, now))
                renewed = await _timed(budgets.permits._renew)
        finally:
            await opened.memory.close()
    return charged / LOOK_EVERY_S + renewed / RENEW_EVERY_S


async def _look(meter: CallMeter, budgets: Budgets, now: list[float]) -> None:
    now[0] += LOOK_EVERY_S
    meter.look()
    await budgets.day_counts.flush()


async def _timed(work: object) -> float:
    assert callable(work)
    before = exact_cpu_s(os.getpid())
    for _ in range(TIMES):
        await work()
    return 1000 * (exact_cpu_s(os.getpid()) - before) / TIMES


def report(costs: list[list[float]], lasting_ms: float) -> None:
    """Print both medians, the difference with its spread, and the share of a call."""
    without, checked = costs
    low, middle, high = quantiles((b - a for a, b in zip(without, checked, strict=True)), n=4)
    error = (high - low) / 1.35 * 1.25 / len(without) ** 0.5  # standard error of a median, from the quartiles
    CONSOLE.print(f"without the checks {median(without):.2f} ms a call ({min(without):.2f} to {max(without):.2f})")
    CONSOLE.print(f"with them          {median(checked):.2f} ms a call ({min(checked):.2f} to {max(checked):.2f})")
    CONSOLE.print(f"added at its beginning and end: {middle:.2f} ± {error:.2f} ms (quartiles {low:.2f} to {high:.2f})")
    CONSOLE.print(f"added while it lasts: {lasting_ms:.3f} ms a second, {CALL_S * lasting_ms:.2f} ms in {CALL_S:g} s")
    added = middle + CALL_S * lasting_ms
    CONSOLE.print(f"together {added:.2f} ms: {added / SPOKEN_CALL_MS:.1%} of a spoken call of {CALL_S:g} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.call_checks", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    cores = Cores.available()
    began = time.monotonic()
    lasting_ms = asyncio.run(while_it_lasts_ms())
    with (
        provider(SCRIPT, cores.others) as (upstream, _),
        server(upstream, cores.server, LIMITS | GREETING, serve=UNCHECKED) as without,
        server(upstream, cores.server, LIMITS | GREETING, serve=SERVE) as checked,
    ):
        for _, pid in (without, checked):
            settle(pid, 10)
        report(measure([without, checked], options.rounds), lasting_ms)
    CONSOLE.print(f"measured in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
