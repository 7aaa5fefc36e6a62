"""Unreadable records and messages of the cluster in a real Redis: each costs only itself."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.extensions.cluster.cluster_registry import (
    NODES,
    ClusterRegistry,
    calls_key,
    entry_key,
    node_key,
)
from backend.extensions.cluster.rpc import Rpc, requests_to
from backend.runtime.faults import skipped_records
from backend.sessions.event_log import PageMessage
from tests.extensions.cluster.test_cluster import events_until, link_to, the_same_browser, two_servers
from tests.http.world import place_call
from tests.support.redis_server import RedisProcess

DESCRIPTION = {
    "session_id": "s",
    "conversation_id": "c",
    "state": "live",
    "since": 1.0,
    "ended_at": None,
    "ended_reason": None,
    "responder": "fake",
    "transport": "webrtc",
    "counts": {"turns": 1},
}
BROKEN = (b"\xff not JSON", b"[1, 2]", b'{"session_id": 7}', b"{}")


async def answer(what: str, args: msgspec.Raw) -> Any:
    if what == "fault":
        raise RuntimeError("a fault in the handling of one message")
    return {"what": what, **msgspec.json.decode(args)}


@asynccontextmanager
async def rpc_of(redis: RedisProcess, node: str, answer: Any = answer) -> AsyncIterator[Rpc]:
    """A process that gives this answer, and asks itself."""
    async with link_to(redis) as link:
        rpc = Rpc(link.redis, link.waiting, node, answer)
        await rpc.open()
        try:
            yield rpc
        finally:
            await rpc.close()


async def test_an_unreadable_rpc_message_is_skipped_and_counted_and_the_next_is_answered(
    redis: RedisProcess, caplog: pytest.LogCaptureFixture
) -> None:
    before = skipped_records["RPC message"]
    async with link_to(redis) as link, rpc_of(redis, "n1") as rpc:
        for message in (b"\xff not JSON", b"[1, 2]", b"{}", b'{"what": 7}'):
            await link.redis.publish(requests_to("n1"), message)
        assert await rpc.call("n1", "hello") == {"what": "hello"}
        assert skipped_records["RPC message"] == before + 4
    assert "a record of the kind RPC message cannot be read" in caplog.text


async def test_an_unreadable_entry_is_skipped_and_every_other_is_found(redis: RedisProcess) -> None:
    before = skipped_records["session entry"]
    async with link_to(redis) as link:
        registry = ClusterRegistry(link.redis)
        good = {"session_id": "good", "node": "n", "owner": "ada", "description": DESCRIPTION}
        for number, raw in enumerate((*BROKEN, msgspec.json.encode(good))):
            session_id = "good" if number == len(BROKEN) else f"bad{number}"
            await link.redis.set(entry_key(session_id), raw)
            await link.redis.zadd(calls_key("ada"), {session_id: time.time() + 60})
        assert [entry.session_id for entry in await registry.entries_of("ada")] == ["good"]
        assert await registry.entry("bad0") is None
        assert skipped_records["session entry"] == before + len(BROKEN) + 1


async def test_a_process_with_an_unreadable_entry_is_left_out(redis: RedisProcess) -> None:
    async with link_to(redis) as link:
        registry = ClusterRegistry(link.redis)
        newer = {"node": "newer", "group": "g", "live": 1, "load": 0.1, "accepts": True, "region": "north"}
        await link.redis.set(node_key("newer"), msgspec.json.encode(newer))
        await link.redis.set(node_key("broken"), b"{}")
        await link.redis.sadd(NODES, "newer", "broken")
        assert [state.node for state in await registry.nodes()] == ["newer"]


async def test_calls_go_on_beside_broken_entries_events_and_messages(redis: RedisProcess, tmp_path: Path) -> None:
    async with two_servers(redis, tmp_path) as (here, there), here.browser() as browser, link_to(redis) as link:
        session_id = (await place_call(browser))["session_id"]
        owner = here.registry.find(session_id).owner
        await link.redis.set(entry_key("broken"), b"{")
        await link.redis.zadd(calls_key(owner), {"broken": time.time() + 60})
        async with the_same_browser(browser, there) as elsewhere:
            here.registry.find(session_id).event_log.append(PageMessage("one", {}))
            assert await events_until(elsewhere, session_id, "one") == ["one"]
            reading = asyncio.create_task(events_until(elsewhere, session_id, "session_ended"))
            listed = (await elsewhere.get("/api/sessions")).json()["sessions"]
            assert [session["session_id"] for session in listed] == [session_id]
            ended = await elsewhere.post("/api/rtc/disconnect", json={"session_id": session_id})
            assert ended.status_code == 200
            assert await reading == ["one", "session_ended"]
