"""How soon a finished task is heard: `python -m benchmarks.telling [--rounds 20]`, about five seconds a round.

A serving process with its Redis and a real WebRTC call to it. This process is the worker: it writes the end of a task
into its record, and listens in the call until the first audible packet of what is told of it. The local Responder
thinks and speaks at once, so what is measured is ours: the moment a digest gathers (`COORDINATOR__LISTENER_AFTER_S`,
half a second, on purpose), the coordinator's next look, the digest itself, the notice, and the way of its sound.

*done → decided* ends when the page is shown the decision, *decided → heard* at the first sound.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx2
import uvloop
from rich.console import Console
from rich.table import Table

from backend.coordinator.store import Channels
from backend.settings.tasks import CoordinatorSettings
from backend.storage.client import connect
from backend.tasks.repository import TaskRepository
from backend.tasks.service import TaskService
from backend.tasks.task import TaskResult
from benchmarks.figures import percentile
from tests.support.offline_peer import offline_peer
from tests.support.redis_server import running_redis
from tests.support.running_server import PlacedCall, a_browser, placed_call, running_server
from tests.support.tasks import FakeQueue
from tests.support.waiting import until

TONE: dict[str, Any] = {"hz": 440, "ms": 400}
SCRIPT: dict[str, Any] = {
    "turns": [{"hear": "hello", "reply": {"text": "Hello.", "tone": TONE}}],
    "purposes": {"notice": {"text": "It is done.", "tone": TONE}},
}
QUIET_S = 0.6
WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class Took:
    """One task's milliseconds."""

    decided: float
    heard: float


async def main() -> None:
    """Measure, and print."""
    rounds = _rounds()
    with running_redis() as redis:
        async with offline_peer(SCRIPT) as peer:
            settings = {"REDIS_URL": redis.url, "BACKGROUND__WORKER": "off", "IDLE_NUDGE_S": "0"}
            with running_server(peer, **settings) as server:
                async with a_browser(server) as browser:
                    user = await _user(browser)
                    async with placed_call(server, browser=browser) as call:
                        await _greeted(call)
                        took = await _measured(redis.url, user, call, rounds)
    _show(took)


async def _measured(url: str, user: str, call: PlacedCall, rounds: int) -> list[Took]:
    redis = connect(url)
    repository = TaskRepository(redis, Channels(redis, "benchmark").add_result)
    service = TaskService(repository, FakeQueue(), kinds={"research"})
    took = []
    try:
        for number in range(rounds + 1):
            await call.hears_nothing_for(QUIET_S, WITHIN_S)
            task = await repository.begin((await service.create(user, "research", f"Question {number}?")).id)
            took.append(await _told(repository, task, call))
    finally:
        await redis.aclose()
    return took[1:]  # the first one loads what is loaded once


async def _told(repository: TaskRepository, task: Any, call: PlacedCall) -> Took:
    """From the task's end to the first sound of it."""
    clock = asyncio.get_running_loop().time
    decisions, notices = len(call.all_told("decision")), len(_told_notices(call))
    began = clock()
    await repository.finish(task, TaskResult("Bees dance.", "live"))
    await until(lambda: any(heard.at > began and heard.audible for heard in call.caller.received.frames), WITHIN_S)
    heard = next(heard.at for heard in call.caller.received.frames if heard.at > began and heard.audible)
    await until(lambda: len(_told_notices(call)) > notices, WITHIN_S)
    shown = [at for event, at in zip(call.events, call.arrivals, strict=True) if event.type == "decision"]
    return Took((shown[decisions] - began) * 1000, (heard - began) * 1000)


def _told_notices(call: PlacedCall) -> list[dict[str, Any]]:
    return [data for data in call.all_told("notice") if data["state"] == "told"]


async def _greeted(call: PlacedCall) -> None:
    """Nothing is told before the first answer."""
    sent = await call.http.post(
        f"/api/sessions/{call.ticket.session_id}/messages",
        json={"text": "hello"},
        headers={"authorization": f"Bearer {call.ticket.token}"},
    )
    sent.raise_for_status()
    await call.hears_something(WITHIN_S)


async def _user(browser: httpx2.AsyncClient) -> str:
    await browser.get("/api/config")
    (cookie,) = browser.cookies.jar
    return str(cookie.value).strip('"').rsplit(".", 2)[0]


def _rounds() -> int:
    parser = argparse.ArgumentParser(description="How soon a finished task is heard on a live call.")
    parser.add_argument("--rounds", type=int, default=20)
    rounds: int = parser.parse_args().rounds
    return rounds


def _show(took: list[Took]) -> None:
    gathers = CoordinatorSettings().listener_after_s * 1000  # type: ignore[call-arg]
    table = Table("", "p50 ms", "p95 ms", "worst ms", title=f"From a task's end to its sound, {len(took)} tasks")
    rows = {
        "done → decided": [each.decided for each in took],
        "decided → heard": [each.heard - each.decided for each in took],
        "done → heard": [each.heard for each in took],
        f"… without the {gathers:g} ms it gathers": [each.heard - gathers for each in took],
    }
    for name, figures in rows.items():
        table.add_row(name, *(f"{value:.0f}" for value in (*_cuts(figures), max(figures))))
    Console().print(table)
    print(f"taken at {time.strftime('%H:%M')}; the machine's load matters")


def _cuts(figures: list[float]) -> tuple[float, float]:
    ordered = sorted(figures)
    return percentile(ordered, 50), percentile(ordered, 95)


if __name__ == "__main__":
    uvloop.run(main())
