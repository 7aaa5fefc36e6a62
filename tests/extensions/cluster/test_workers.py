"""`WORKERS=2`: two real processes behind one port. Each has calls that the other lacks."""

import os
import signal
from contextlib import AsyncExitStack

import httpx2
import psutil
import pytest

from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

GIVEN_UP_WITHIN_S = 30.0
"""Seconds until the calls of a dead process are ended.

Twelve without a heartbeat, a check every four, and three for each request that waits for an answer of that process.
"""


def workers_of(server: RunningServer) -> list[psutil.Process]:
    """The serving processes, oldest first."""
    children = psutil.Process(server.pid).children(recursive=True)
    serving = [child for child in children if "--shared-port" in child.cmdline()]
    return sorted(serving, key=lambda child: child.create_time())


async def where_they_live(browser: httpx2.AsyncClient) -> dict[str, float]:
    """Live sessions of each process, from the one page of metrics."""
    page = (await browser.get("/metrics")).text
    lines = [line for line in page.splitlines() if line.startswith("voice_sessions_live{")]
    return {line.split('"')[1]: float(line.rsplit(" ", 1)[1]) for line in lines}


async def two_serve(browser: httpx2.AsyncClient) -> bool:
    """Whether both processes serve: the first announces the address, whether or not the second has started."""
    return len(await where_they_live(browser)) == 2


async def calls_in_both(server: RunningServer, stack: AsyncExitStack) -> list[PlacedCall]:
    """Place calls until each process has one: the kernel distributes them."""
    calls: list[PlacedCall] = []
    browser = await stack.enter_async_context(a_browser(server))

    await until(lambda: two_serve(browser), 30)
    while len(calls) < 16:
        calls.append(await stack.enter_async_context(placed_call(server)))
        lives = await where_they_live(browser)
        if len(lives) == 2 and all(lives.values()):
            return calls
    raise AssertionError("sixteen calls and all in one process")


async def lives(server: RunningServer, call: PlacedCall) -> bool:
    """Whether the call is reported as live, on a connection of its own, so that any process may answer.

    The kernel may give a connection to a process that is just being killed: it is then reset.
    """
    async with a_browser(server) as asking:
        headers = {"authorization": f"Bearer {call.ticket.token}"}
        try:
            shown = await asking.get(f"/api/sessions/{call.ticket.session_id}", headers=headers)
        except httpx2.TransportError:
            return False
    return shown.status_code == 200 and shown.json()["state"] == "live"


async def told_its_end_or_lives(server: RunningServer, call: PlacedCall) -> bool:
    """Whether the end of a call is known after its process died."""
    return bool(call.events_of("session_ended")) or await lives(server, call)


async def test_all_processes_share_one_bound_of_local_calls_and_a_dead_process_returns_its_share() -> None:
    with running_server(WORKERS="2", LOCAL_CALLS="1", IDLE_NUDGE_S="0", IDLE_DISCONNECT_S="0") as server:

        async def asked() -> httpx2.Response:  # on a connection of its own, which the kernel gives to either process
            async with a_browser(server) as browser:
                return await browser.post("/api/sessions", json={})

        async with a_browser(server) as browser:
            await until(lambda: two_serve(browser), 30)
        async with placed_call(server) as call:
            assert call.events_of("session_started")
            for _ in range(16):
                refused = await asked()
                assert refused.status_code == 503 and refused.headers["Retry-After"]
                assert "LOCAL_CALLS" in refused.json()["error"]["hint"]
            for worker in workers_of(server):
                os.kill(worker.pid, signal.SIGKILL)

            async def let_in() -> bool:
                try:
                    return (await asked()).status_code == 200
                except httpx2.TransportError:
                    return False

            await until(let_in, 60)


async def test_any_process_answers_for_every_call_and_the_death_of_one_leaves_the_others_calls_alone() -> None:
    with running_server(WORKERS="2", LOCAL_CALLS="16", IDLE_NUDGE_S="0", IDLE_DISCONNECT_S="0") as server:
        async with AsyncExitStack() as stack:
            calls = await calls_in_both(server, stack)
            for call in calls:
                for _ in range(4):
                    assert await lives(server, call)

            victim = workers_of(server)[0]
            os.kill(victim.pid, signal.SIGKILL)
            for call in calls:  # its calls do not all end at one moment
                await until(lambda call=call: told_its_end_or_lives(server, call), GIVEN_UP_WITHIN_S)  # type: ignore[misc]
            lost = [call for call in calls if call.events_of("session_ended")]
            assert {call.events_of("session_ended")[0]["reason"] for call in lost} <= {"server_lost"}
            assert 0 < len(lost) < len(calls)
            await until(lambda: len(workers_of(server)) == 2, 15)

            survivor = next(call for call in calls if call not in lost)
            typed = await survivor.http.post(
                f"/api/sessions/{survivor.ticket.session_id}/messages",
                json={"text": "What's the weather in Seattle?"},
                headers={"authorization": f"Bearer {survivor.ticket.token}"},
            )
            assert typed.status_code == 202, typed.text
            await survivor.event("thinker", within_s=15, event="complete", domain="weather")
            async with placed_call(server, transport="ws") as fresh:
                assert fresh.events_of("session_started")
        assert server.process.poll() is None
