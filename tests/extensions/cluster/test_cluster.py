"""Two servers over one Redis: each answers for the calls of both."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from redis.asyncio import Redis

from backend.extensions.cluster import replicator
from backend.extensions.cluster.cluster import Cluster
from backend.extensions.cluster.metrics import merged
from backend.extensions.cluster.remote import RemoteHandle
from backend.observability.call_metrics import CallMetrics
from backend.sessions.event_log import PageMessage
from backend.sessions.handles import CallsHere, SessionLocator
from backend.sessions.registry import Watcher
from backend.sessions.session import SessionState
from backend.storage.client import connect
from tests.http.world import World, message_of, place_call, world
from tests.support.pictures import data_url, png
from tests.support.redis_server import RedisProcess
from tests.support.waiting import until


@dataclass
class Link:
    """A server's link to the others. One that `dies` leaves without notice."""

    redis: Redis
    waiting: Redis
    dies: bool = False

    @asynccontextmanager
    async def locate(self, here: CallsHere) -> AsyncIterator[SessionLocator]:
        cluster = Cluster(self.redis, self.waiting, here)
        await cluster.__aenter__()
        try:
            yield cluster
        finally:
            await (cluster.stop() if self.dies else cluster.__aexit__())


@asynccontextmanager
async def link_to(redis: RedisProcess) -> AsyncIterator[Link]:
    quick, waiting = connect(redis.url), connect(redis.url, waiting=True)
    try:
        yield Link(quick, waiting)
    finally:
        await quick.aclose()
        await waiting.aclose()


@asynccontextmanager
async def two_servers(redis: RedisProcess, folder: Path, **settings: Any) -> AsyncIterator[tuple[World, World]]:
    async with (
        link_to(redis) as one,
        link_to(redis) as other,
        world(folder, locate=one.locate, **settings) as here,
        world(folder, locate=other.locate, page=False) as there,
    ):
        yield here, there


@asynccontextmanager
async def the_same_browser(browser: httpx2.AsyncClient, at: World) -> AsyncIterator[httpx2.AsyncClient]:
    """The caller's browser; its next request reaches another server."""
    async with at.browser(cookies={"caller": browser.cookies["caller"]}) as same:
        yield same


async def events_until(browser: httpx2.AsyncClient, session_id: str, last: str, after: int = 0) -> list[str]:
    """The types of a session's events, up to the first `last`."""
    types: list[str] = []
    async with asyncio.timeout(10), browser.stream("GET", f"/api/events/{session_id}?after={after}") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                types.append(line.removeprefix("event: "))
                if types[-1] == last:
                    break
    return types


async def found(browser: httpx2.AsyncClient, session_id: str) -> bool:
    return (await browser.get(f"/api/sessions/{session_id}")).status_code == 200


async def test_a_call_is_described_typed_into_and_ended_from_the_other_server(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        async with the_same_browser(browser, there) as elsewhere:
            shown = (await elsewhere.get(f"/api/sessions/{session_id}")).json()
            assert (shown["session_id"], shown["state"]) == (session_id, "live")
            assert [s["session_id"] for s in (await elsewhere.get("/api/sessions")).json()["sessions"]] == [session_id]
            typed = await elsewhere.post(f"/api/sessions/{session_id}/messages", json={"text": "hello"})
            assert typed.status_code == 202
            shown = {"picture": data_url(png(200, 200, noise=bytes(range(199)))), "text": "look"}
            answer = await elsewhere.post(f"/api/sessions/{session_id}/pictures", json=shown)
            assert answer.status_code == 202
            switched = await elsewhere.post(f"/api/sessions/{session_id}/interruptions", json={"allowed": False})
            assert switched.status_code == 202
            call = here.calls[session_id]
            assert (call.typed, call.shown, call.interruptions) == (["hello", "look"], [shown["picture"]], [False])
            assert (await elsewhere.get(f"/api/sessions/{session_id}/transcript")).json() == {"messages": []}
            assert (await elsewhere.post("/api/rtc/disconnect", json={"session_id": session_id})).status_code == 200
            assert here.registry.find(session_id).ended_reason == "disconnected"


async def test_events_are_read_from_the_other_server_from_the_first_to_the_last(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        session = here.registry.find(session_id)
        session.event_log.append(PageMessage("one", {"n": 1}))
        async with the_same_browser(browser, there) as elsewhere:
            await until(lambda: found(elsewhere, session_id))
            reading = asyncio.create_task(events_until(elsewhere, session_id, "session_ended"))
            session.event_log.append(PageMessage("two", {"n": 2}))
            await here.registry.end(session, "deleted")
            assert await reading == ["one", "two", "session_ended"]
            assert await events_until(elsewhere, session_id, "session_ended", after=1) == ["two", "session_ended"]
            assert (await elsewhere.get(f"/api/events/{session_id}?after=3")).status_code == 204


async def test_a_session_that_is_placed_during_an_outage_of_redis_is_found_soon_after(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "HEARTBEAT_S", 60.0)
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        await place_call(browser)  # the first heartbeat is written
        redis.kill()
        try:
            session_id = (await place_call(browser))["session_id"]
        finally:
            redis.start()
        async with the_same_browser(browser, there) as elsewhere:
            await until(lambda: found(elsewhere, session_id))


async def test_a_stranger_gets_the_same_404_from_both(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as owner, there.browser() as stranger:
        session_id = (await place_call(owner))["session_id"]
        for path in (f"/api/sessions/{session_id}", f"/api/sessions/{'A' * 22}"):
            assert (await stranger.get(path)).status_code == 404
        assert (await stranger.get("/api/sessions")).json() == {"sessions": []}


async def test_a_session_reserved_here_is_connected_there(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        ticket = (await browser.post("/api/sessions", json={})).json()
        path = f"/ws/{ticket['session_id']}"
        async with await there.socket(path, ticket["token"]) as socket:
            await socket.send(b"\0" * 960)
            assert await socket.recv() == b"\0" * 960
            assert there.registry.find(ticket["session_id"]).state is SessionState.LIVE
            assert here.registry.live == 0
            shown = (await browser.get(f"/api/sessions/{ticket['session_id']}")).json()
            assert (shown["state"], shown["transport"]) == ("live", "websocket")
            async with await here.socket(path, ticket["token"]) as late:
                await late.wait_closed()
                assert late.close_code == 4409


async def test_a_full_server_passes_the_offer_to_another(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path, session_cap=1) as (here, there), here.browser() as browser:
        first, second = await place_call(browser), await place_call(browser)
        assert here.registry.find(first["session_id"]).state is SessionState.LIVE
        assert there.registry.find(second["session_id"]).state is SessionState.LIVE
        assert (await browser.get(f"/api/sessions/{second['session_id']}")).json()["state"] == "live"


async def test_a_caller_gets_a_refusal_when_no_server_accepts_calls(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path, session_cap=1) as (here, there), here.browser() as browser:
        await place_call(browser)
        there.accepts = False
        await asyncio.sleep(replicator.HEARTBEAT_S + 0.5)
        refused = await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\n"})
        assert (refused.status_code, message_of(refused)) == (429, "All lines are busy.")
        assert int(refused.headers["retry-after"]) > 0


async def test_readers_at_the_other_server_get_an_end_when_a_server_dies(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "HEARTBEAT_S", 0.2)
    monkeypatch.setattr(replicator, "EXPIRES_S", 1)
    async with link_to(redis) as one, link_to(redis) as other, world(tmp_path, locate=other.locate) as there:
        async with world(tmp_path, locate=one.locate) as here, here.browser() as browser:
            session_id = (await place_call(browser))["session_id"]
            cookie = browser.cookies["caller"]
            one.dies, here.registry.watcher = True, Watcher()
        async with there.browser(cookies={"caller": cookie}) as elsewhere:
            assert await events_until(elsewhere, session_id, "session_ended") == ["session_ended"]
            shown = (await elsewhere.get(f"/api/sessions/{session_id}")).json()
            assert (shown["state"], shown["ended_reason"]) == ("ended", "server_lost")
            assert (await elsewhere.delete("/api/me")).status_code == 200
            assert (await elsewhere.get(f"/api/sessions/{session_id}")).status_code == 404


async def test_own_calls_go_on_while_redis_is_away_and_others_are_found_again_after(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        async with the_same_browser(browser, there) as elsewhere:
            redis.freeze()
            try:
                assert (await browser.get(f"/api/sessions/{session_id}")).status_code == 200
                away = await elsewhere.get(f"/api/sessions/{session_id}")
                assert away.status_code == 503
                assert "Redis" in message_of(away)
                here.registry.find(session_id).event_log.append(PageMessage("while_away", {}))
            finally:
                redis.thaw()
            await until(lambda: found(elsewhere, session_id))
            assert await events_until(elsewhere, session_id, "while_away") == ["while_away"]


async def test_erasing_a_user_removes_their_entries_in_the_cluster(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser:
        session_id = (await place_call(browser))["session_id"]
        here.registry.find(session_id).event_log.append(
            PageMessage("transcript", {"role": "user", "content": "a secret"})
        )
        async with the_same_browser(browser, there) as elsewhere:
            assert (await elsewhere.delete(f"/api/sessions/{session_id}")).status_code == 200
        assert here.registry.live == 0
        async with link_to(redis) as link:
            assert await link.redis.keys(f"*{session_id}*") == []


async def test_an_operator_sees_the_calls_of_all_servers_and_ends_any(redis: RedisProcess, tmp_path: Path) -> None:
    token = "an operator's token"
    async with two_servers(redis, tmp_path, admin_token=token) as (here, there):
        async with here.browser() as one, there.browser() as other:
            ids = {(await place_call(one))["session_id"], (await place_call(other))["session_id"]}
            async with here.browser(headers={"authorization": f"Bearer {token}"}) as operator:
                await asyncio.sleep(replicator.HEARTBEAT_S / 4)
                shown = (await operator.get("/api/admin/overview")).json()["sessions"]
                assert {session["session_id"] for session in shown} == ids
                assert all("owner" not in session for session in shown)
                for session_id in ids:
                    assert (await operator.delete(f"/api/admin/sessions/{session_id}")).status_code == 200
        assert (here.registry.live, there.registry.live) == (0, 0)


def test_figures_of_several_processes_become_one_page_that_prometheus_can_read() -> None:
    pages = []
    for process, ended in (("one", 2), ("two", 3)):
        metrics = CallMetrics(["weather"])
        for _ in range(ended):
            metrics.session_ended("idle")
        pages.append((process, generate_latest(metrics.registry).decode()))
    families = {family.name: family for family in text_string_to_metric_families(merged(pages))}
    ended_by = {
        sample.labels["process"]: sample.value
        for sample in families["voice_sessions_ended"].samples
        if sample.name == "voice_sessions_ended_total"
    }
    assert ended_by == {"one": 2, "two": 3}
    assert families["voice_turn_leg_seconds"].type == "histogram"


class BusyCall(RemoteHandle):
    """A call of another process that has another event whenever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def ask(self, what: str, within_s: float = 0.0, **args: Any) -> Any:
        self.asked += 1
        return {"events": [{"id": args["after"] + 1, "type": "transcript", "at": 0.0, "data": {}}], "over": False}


async def test_a_reader_asks_for_a_busy_call_of_another_process_four_times_a_second_at_most() -> None:
    call, began = BusyCall(), time.monotonic()
    async with aclosing(call.follow(0, 30.0)) as events:
        for _ in range(3):
            await anext(events)
    assert call.asked == 3 and time.monotonic() - began > 2 * 0.24
