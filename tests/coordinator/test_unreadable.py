"""Data of the coordinator that cannot be decoded is skipped and counted, and the rest goes on.

Data of another version can be decoded: unknown fields are ignored, and missing ones have defaults.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backend.coordinator import coordinator as module
from backend.coordinator.coordinator import Decision
from backend.coordinator.store import ACTIVE, DigestStatus, Feedback, HistoryEntry
from backend.runtime.faults import skipped_records
from backend.runtime.supervisor import supervised
from tests.coordinator.world import Process, World, options
from tests.support.waiting import until

GARBAGE = b"\xff{not json"
SPOILED: list[dict[Any, Any]] = [
    {"no": "entry"},
    {"entry": '{"kind": "input", "text": "at no time", "at": "soon"}'},
    {"entry": '{"kind": "rumour", "text": "of a kind unknown here", "at": 1.0}'},
    {"entry": GARBAGE},
]


def a_process() -> Process:
    """Return a coordinator with digests that are due immediately."""
    return Process(World(), "one", decision=Decision("Noted."), settings=options(min_interval_s=0))


@pytest.fixture(autouse=True)
def none_skipped_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    skipped_records.clear()
    monkeypatch.setattr(module, "GATHER_S", 0.0)


@asynccontextmanager
async def at_work() -> AsyncIterator[Process]:
    rig = a_process()
    running = supervised("coordinator under test", rig.coordinator.run)
    try:
        yield rig
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_an_unreadable_entry_is_deleted_and_the_others_are_digested() -> None:
    rig = a_process()
    for fields in SPOILED:
        await rig.redis.xadd("user:ada:inbox", fields)
    await rig.channels.add_input("ada", "hello", "api")
    assert [entry.text for entry in await rig.channels.waiting("ada")] == ["hello"]
    assert skipped_records["channel entry"] == len(SPOILED) and await rig.redis.xlen("user:ada:inbox") == 1
    assert await rig.coordinator.run_digest("ada")
    assert [item.entry.text for digest in rig.decider.asked for item in digest.items] == ["hello"]
    assert await rig.channels.users() == [] and not await rig.redis.xlen("user:ada:inbox")


async def test_a_channel_of_unreadable_entries_is_emptied_and_delays_no_user() -> None:
    async with at_work() as rig:
        for fields in SPOILED:
            await rig.redis.xadd("user:ada:inbox", fields)
        await rig.redis.zadd(ACTIVE, {"ada": 1.0})
        await rig.channels.add_input("ben", "hello", "api")
        await until(lambda: len(rig.world.notified) == 1)
        await until(lambda: not rig.coordinator.working)

        async def nobody_waits() -> bool:
            return await rig.channels.users() == []

        await until(nobody_waits)
        assert not await rig.redis.xlen("user:ada:inbox") and len(rig.decider.asked) == 1


async def test_a_channel_of_a_wrong_type_affects_only_its_user() -> None:
    async with at_work() as rig:
        await rig.redis.set("user:ada:inbox", GARBAGE)
        await rig.redis.zadd(ACTIVE, {"ada": 1.0})
        await rig.channels.add_input("ben", "hello", "api")
        await until(lambda: len(rig.world.notified) == 1 and not rig.coordinator.working)
        assert await rig.channels.users() == ["ada"]


async def test_an_unreadable_plan_leads_to_a_new_decision_and_a_notice() -> None:
    async with at_work() as rig:
        await rig.redis.set("user:ada:digest", GARBAGE)
        await rig.channels.add_input("ada", "hello", "api")
        await until(lambda: len(rig.world.notified) == 1)
        await until(lambda: not rig.coordinator.working)
        assert await rig.state.plan("ada") is None and (await rig.state.status("ada")).count == 1
        assert skipped_records["coordinator plan"]


async def test_unreadable_history_feedback_and_status_are_left_out() -> None:
    rig = a_process()
    await rig.state.add_history("ada", [HistoryEntry("1-0", 1.0, "input", "hello")])
    await rig.state.add_feedback("ada", "f1", Feedback("praise"))
    await rig.redis.hset("user:ada:thoughts", "2-0", GARBAGE)
    await rig.redis.hset("user:ada:feedback", "f2", GARBAGE)
    await rig.redis.set("user:ada:digests", b'{"count": "many"}')
    assert [entry.text for entry in await rig.state.history("ada")] == ["hello"]
    assert (await rig.state.export("ada"))["feedback"] == [Feedback("praise")]
    assert await rig.state.status("ada") == DigestStatus()
    await rig.channels.add_input("ada", "and more", "api")
    assert await rig.coordinator.run_digest("ada")
    assert (await rig.state.status("ada")).count == 1
    assert {"coordinator history", "feedback", "digest status"} <= set(skipped_records)
