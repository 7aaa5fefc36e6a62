"""What the checks of who asks, and how much, cost: `python -m benchmarks.security_checks`, about two minutes.

Two servers run at once: of this source tree, and of the last revision before the checks. In turns, each is sent
requests over one connection and then has calls of a spoken question and its answer, and is asked for the processor
time that it, its children and its Redis used. Whoever is first changes from round to round; the medians are compared.
The trees differ in more than the checks: what a call costs apart from its requests is shown, and is no part of them.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx2
from rich.console import Console
from rich.table import Table

from backend.media.wav import read_wav
from benchmarks.processes import ROOT, Cores, provider, server, settle, usage
from responder_thinker.webrtc import WebRTCCaller

BEFORE = "9e5e462"
"""The last revision without the checks."""
REQUESTS = 700
CALLS_AT_ONCE = 6
CALL_S = 9.0
QUESTION = ROOT / "examples" / "whats-the-weather-in-seattle.wav"
SCRIPT = {
    "turns": [{"hear": "What is the weather in Seattle?", "reply": "In Seattle it is sunny and quite warm today."}]
}
LIMITS = {
    "CHAT_TURNS_PER_MINUTE": "0",
    "SECURITY_LOG": "security.log",
    "BUDGETS__LIMIT_LOOPBACK": "true",
    "BUDGETS__LIVE_CALLS": "1000",
    "BUDGETS__OPEN_STREAMS": "1000",
    "BUDGETS__NEW_USERS_PER_DAY": "100000",
    "BUDGETS__USER__VOICE_MINUTES": "100000",
    "BUDGETS__ADDRESS__VOICE_MINUTES": "100000",
}
"""Everything is counted, and nothing is refused. The earlier revision takes no notice."""
ROUTES = {"GET /healthz": "/healthz", "GET /api/config": "/api/config", "GET /api/me (Redis)": "/api/me"}


@contextmanager
def tree_of(revision: str) -> Iterator[Path]:
    """A folder with the files of that revision, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", revision], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


async def ask(url: str, path: str) -> None:
    """Send the requests, one after the other, over one connection and with one cookie."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
        for _ in range(REQUESTS):
            (await http.get(path)).raise_for_status()


async def call(url: str, speech: bytes) -> None:
    """Place a call, ask, hear the answer, and hang up after as long as every call lasts."""
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as http, asyncio.timeout(CALL_S + 20):
        caller = WebRTCCaller()
        offered = await http.post("/api/rtc/offer", json={"sdp": await caller.offer()})
        answer = offered.raise_for_status().json()
        await caller.accept(answer["sdp"])
        await caller.connected()
        bearer = {"authorization": f"Bearer {answer['token']}"}
        reading = asyncio.create_task(_read(http, f"/api/events/{answer['session_id']}", bearer))
        await asyncio.sleep(1)
        caller.say(speech)
        await asyncio.sleep(CALL_S - 1)
        assert any(heard.audible for heard in caller.received.frames), "no answer was heard"
        await caller.close()
        reading.cancel()
        await asyncio.wait([reading])


async def _read(http: httpx2.AsyncClient, path: str, headers: dict[str, str]) -> None:
    async with http.stream("GET", path, headers=headers, timeout=None) as stream:
        async for _ in stream.aiter_bytes():
            pass


async def calls(url: str, speech: bytes) -> None:
    """Place the calls of one round."""
    await asyncio.gather(*(call(url, speech) for _ in range(CALLS_AT_ONCE)))


def spent_ms(pid: int, work: Callable[[], Awaitable[None]], times: int) -> float:
    """Return the processor time in ms that each of `times` pieces of `work` cost the server and its Redis."""
    before = usage(pid)
    asyncio.run(_await(work))
    spent = usage(pid).since(before)
    return 1000 * (spent.cpu_s + spent.redis_cpu_s) / times


async def _await(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def measure(servers: dict[str, tuple[str, int]], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return what each piece of work cost each server, in ms, one figure a round."""
    speech = read_wav(QUESTION)
    for url, _ in servers.values():  # whatever is done once in a process's life
        asyncio.run(calls(url, speech))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in [*ROUTES, "a call"]}
    for number in range(rounds):
        order = list(servers) if number % 2 == 0 else list(servers)[::-1]
        for name, path in ROUTES.items():
            for tree in order:
                url, pid = servers[tree]
                cost = spent_ms(pid, lambda url=url, path=path: ask(url, path), REQUESTS)  # type: ignore[misc]
                found[name].setdefault(tree, []).append(cost)
        for tree in order:
            url, pid = servers[tree]
            cost = spent_ms(pid, lambda url=url: calls(url, speech), CALLS_AT_ONCE)  # type: ignore[misc]
            found["a call"].setdefault(tree, []).append(cost)
    return found


def report(found: dict[str, dict[str, list[float]]]) -> None:
    """Print the medians, and how far the rounds lie apart."""
    table = Table("processor time, ms", "before", "now", "added", "rounds before", "rounds now")
    for name, costs in found.items():
        before, now = median(costs["before"]), median(costs["now"])
        spread = [" ".join(f"{cost:.3g}" for cost in sorted(costs[tree])) for tree in ("before", "now")]
        table.add_row(name, f"{before:.3f}", f"{now:.3f}", f"{now - before:+.3f} ({now / before - 1:+.1%})", *spread)
    console = Console(width=140)
    console.print(table)
    call_before = median(found["a call"]["before"])
    added = max(median(costs["now"]) - median(costs["before"]) for name, costs in found.items() if name != "a call")
    console.print(
        f"The two requests of a call (offer, events), at the dearest of the above, add {2 * added:.3f} ms: "
        f"{2 * added / call_before:.2%} of a call of {CALL_S:g} s."
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.security_checks", description=__doc__.splitlines()[0])
    parser.add_argument("--before", default=BEFORE, help="the revision to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cores = Cores.available()
    with (
        tree_of(options.before) as tree,
        provider(SCRIPT, cores.others) as (upstream, _),
        server(upstream, cores.server, LIMITS | {"PYTHONPATH": str(tree)}) as before,
        server(upstream, cores.server, LIMITS) as now,
    ):
        for _, pid in (before, now):
            settle(pid, 10)
        report(measure({"before": before, "now": now}, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
