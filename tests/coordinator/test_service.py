"""The words of users with tasks reach the coordinator, and an erasure removes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from backend.access.principal import EVERYTHING
from backend.coordinator.decider import ModelDecider
from backend.coordinator.service import CoordinatorService
from backend.notifications.notices import Notice
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import LoggedModel, ModelCallLog
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from tests.coordinator.world import USER, Process, World
from tests.support.waiting import until


@dataclass
class Rig:
    process: Process
    service: CoordinatorService


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async def no_notices(user_id: str) -> list[Notice]:
        return []

    async with Process(World(), "one") as one:
        outbox = Outbox(FakeMemory())
        yield Rig(one, CoordinatorService(one.coordinator, outbox, no_notices))
        await outbox.drain(1.0)


async def test_the_words_of_a_user_with_tasks_become_an_input_and_wake_the_coordinator(rig: Rig) -> None:
    rig.process.world.ended(1)
    rig.service.ingest(USER, "And the ants?", "voice", EVERYTHING)
    await rig.service.utterances.settle(1.0)
    assert [(entry.text, entry.mode, entry.scope) for entry in await rig.process.channels.waiting(USER)] == [
        ("And the ants?", "voice", EVERYTHING)
    ]
    assert rig.process.coordinator._woken.is_set()


async def test_the_words_of_a_user_without_tasks_are_not_kept(rig: Rig) -> None:
    rig.service.ingest(USER, "What a day.", "chat")
    await rig.service.utterances.settle(1.0)
    assert await rig.process.channels.waiting(USER) == []


async def test_an_erasure_removes_the_words_from_just_before(rig: Rig) -> None:
    rig.process.world.ended(1)
    await rig.service.add_input(USER, "How do bees sleep?")
    rig.service.ingest(USER, "And the ants?", "voice")
    await rig.service.erase(USER)
    assert not await rig.service.export(USER) and await rig.process.redis.keys("*ada*") == []


async def test_a_digest_under_way_leaves_nothing_of_a_user_who_is_erased(rig: Rig) -> None:
    one, model, outbox = rig.process, ScriptedModel([0.2, "Bees dance."]), Outbox(FakeMemory())
    log = ModelCallLog(one.redis, outbox)
    one.coordinator.decide = ModelDecider(LoggedModel(model, log), "fast", log.scope, {"research"}).decide
    await rig.service.add_input(USER, "How do bees sleep?")
    digest = asyncio.create_task(one.coordinator.run_digest(USER))
    await until(lambda: bool(model.requests))
    await rig.service.erase(USER)
    assert not await digest
    await outbox.drain(1.0)
    assert not one.world.notified and await one.redis.keys("*") == []
