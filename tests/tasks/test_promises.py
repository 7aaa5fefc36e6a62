"""The numbers and rules that long work promises, each at the value it ships with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any, cast

import pytest
from fakeredis import FakeAsyncRedis
from pydantic import ValidationError

from backend.app.stores import TaskStore
from backend.app.tasks import make_worker
from backend.coordinator.coordinator import Decision, Digest, DigestItem
from backend.coordinator.decider import (
    ACTION_TOOLS,
    ACTIONS_LIMIT,
    CREATE_LIMIT,
    SUMMARY_CHARS,
    ModelDecider,
    RequestedActions,
    bounded,
)
from backend.coordinator.store import HISTORY_LIMIT, ChannelEntry, CoordinatorState, HistoryEntry
from backend.errors import NoAnswer
from backend.models.chat_completions import ChatCompletions, ModelLimits
from backend.settings.tasks import BackgroundSettings, CoordinatorSettings
from backend.storage.outbox import Outbox
from backend.tasks.model_call_log import LoggedModel, ModelCallLog
from backend.tasks.repository import TaskRepository
from backend.tasks.task import Task, TaskResult, TaskState
from backend.tasks.worker import TaskRun, TaskRunner
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.services.server import Reply, Request, serving
from backend.tools.runner import Toolbox
from tests.coordinator.world import USER, Process, World, options
from tests.support.agents import call
from tests.support.chat_api import ended, error, stream, words
from tests.support.consent import tool_context
from tests.support.tasks import add_to_stream
from tests.support.waiting import until

TASKS = BackgroundSettings.model_validate({})
COORDINATOR = CoordinatorSettings.model_validate({})


# --- tasks --------------------------------------------------------------------------------------------


def test_three_tasks_at_once_one_retry_after_five_seconds_and_two_limits() -> None:
    assert (TASKS.concurrency, TASKS.retries, TASKS.retry_after_s) == (3, 1, 5)
    assert (TASKS.soft_limit_s, TASKS.hard_limit_s) == (300, 600)
    assert (TASKS.lease_s, TASKS.keep_days) == (10, 7)


def test_a_worker_is_given_them() -> None:
    given = {"concurrency": 2, "retries": 4, "retry_after_s": 7, "soft_limit_s": 30, "hard_limit_s": 60, "lease_s": 3}
    settings, nothing = BackgroundSettings.model_validate(given), cast(Any, None)
    worker = make_worker(settings, TaskStore(nothing, nothing, nothing, is_shared=True), nothing, nothing)
    assert worker._runner.settings is worker._settings is settings


async def test_a_failure_is_brought_again_after_five_seconds_once() -> None:
    redis = FakeAsyncRedis()
    repository = TaskRepository(redis, add_to_stream)

    async def work(run: TaskRun) -> TaskResult:
        raise NoAnswer("Not now.")

    runner = TaskRunner(repository, work, TASKS, check_s=0.01)
    task = Task("t1", "ana", "", "research", "bees", 1.0, 1.0)
    await repository.create(task, {})
    again = await runner.run("t1")
    assert again == 5
    assert await runner.run("t1") is None
    over = await repository.find("t1")
    assert over is not None and (over.state, over.run) == (TaskState.FAILED, 2)
    await redis.aclose()


async def test_what_was_checkpointed_is_there_for_the_retry() -> None:
    redis = FakeAsyncRedis()
    repository, seen = TaskRepository(redis, add_to_stream), []

    async def work(run: TaskRun) -> TaskResult:
        seen.append(run.load("plan"))
        await run.save("plan", ["read", "write"])
        if len(seen) == 1:
            raise NoAnswer("Not now.")
        return TaskResult("Done.", "live")

    runner = TaskRunner(repository, work, TASKS, check_s=0.01)
    await repository.create(Task("t1", "ana", "", "research", "bees", 1.0, 1.0), {})
    await runner.run("t1")
    await runner.run("t1")
    assert seen == [None, ["read", "write"]]
    await redis.aclose()


# --- when a digest is ---------------------------------------------------------------------------------


def test_digests_are_fifteen_seconds_apart_and_results_alone_wait_for_twenty() -> None:
    assert (
        COORDINATOR.apart_s,
        COORDINATOR.results_after_s,
        COORDINATOR.listener_after_s,
        COORDINATOR.gather_s,
    ) == (15, 20, 0.5, 1)
    assert (COORDINATOR.history_bytes, COORDINATOR.think_within_s) == (20 * 1024, 60)


@pytest.mark.parametrize(
    ("setting", "least", "most"), [("history_entries", 20, 100), ("tasks", 5, 20)], ids=["history", "tasks"]
)
def test_what_a_digest_is_shown_stays_within_bounds(setting: str, least: int, most: int) -> None:
    for value in (least, most):
        assert getattr(CoordinatorSettings.model_validate({setting: value}), setting) == value
    for value in (least - 1, most + 1):
        with pytest.raises(ValidationError):
            CoordinatorSettings.model_validate({setting: value})


@asynccontextmanager
async def thinking(world: World) -> AsyncIterator[Process]:
    """A coordinator at work, at the pace it ships with."""
    async with Process(world, "one", decision=Decision("Bees dance.")) as one:
        running = asyncio.create_task(one.coordinator.run())
        try:
            yield one
        finally:
            running.cancel()
            await asyncio.wait([running])


async def looked(process: Process, times: int = 2) -> None:
    """The loop has looked that often, and has done what was due."""
    before = process.world.looks
    await until(lambda: process.world.looks >= before + times and not process.coordinator.working, 20)


async def test_a_second_digest_waits_until_fifteen_seconds_after_the_first() -> None:
    world = World()
    async with thinking(world) as one:
        await one.channels.add_input(USER, "one", "api")
        world.now += 1.1
        await until(lambda: len(one.decider.asked) == 1, 20)
        await one.channels.add_input(USER, "two", "api")
        world.now += 13
        await looked(one)
        assert len(one.decider.asked) == 1
        world.now += 2.5
        await until(lambda: len(one.decider.asked) == 2, 20)


async def test_a_result_alone_waits_for_twenty_seconds_and_for_a_listener_half_a_second() -> None:
    world = World()
    async with thinking(world) as one:
        await one.end(world.ended(1))
        world.now += 19
        await looked(one)
        assert not world.notified
        world.now += 1.1
        await until(lambda: len(world.notified) == 1, 20)
        await one.end(world.ended(2))
        world.listens = True
        world.now += 0.6
        await until(lambda: len(world.notified) == 2, 20)


# --- what it sees -------------------------------------------------------------------------------------


async def test_the_history_kept_is_bounded_and_so_is_what_is_shown_of_it() -> None:
    async with Process(World(), "one") as one:
        for number in range(HISTORY_LIMIT + 5):
            await one.state.add_history(USER, [HistoryEntry(f"{number}", float(number), "input", f"word {number}")])
        kept = await CoordinatorState(one.redis).history(USER)
    assert HISTORY_LIMIT == 100 and [thought.id for thought in kept] == [f"{n}" for n in range(5, 105)]
    long = [HistoryEntry(f"{number}", float(number), "input", "ü" * 1_000) for number in range(40)]
    shown = bounded(long, options())
    size = sum(len(json.dumps({"text": thought.text}, ensure_ascii=False).encode()) for thought in shown)
    assert 8 <= len(shown) <= 10 and size <= 20 * 1024 and shown[-1].id == "39"


# --- what it may do -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_task", {"kind": "research", "instruction": "Bees.", "priority": 1}),
        ("create_task", {"kind": "research", "instruction": "x"}),
        ("create_task", {"kind": "research", "instruction": "x" * 4_001}),
        ("create_task", {"kind": "research", "instruction": ["Bees"]}),
        ("cancel_task", {}),
        ("cancel_task", {"task_id": 7}),
        ("cancel_task", {"task_id": "another's"}),
        ("summarize_task_result", {"task_id": "another's", "summary": "Bees."}),
        ("summarize_task_result", {"task_id": "t1", "summary": ""}),
        ("summarize_task_result", {"task_id": "t1", "summary": "x" * (SUMMARY_CHARS + 1)}),
        ("capture_feedback", {"feeling": "hunger", "text": "Bees."}),
        ("capture_feedback", {"feeling": "praise", "text": ""}),
        ("capture_feedback", {"feeling": "praise"}),
    ],
)
async def test_an_action_that_is_not_exactly_right_is_refused(tool: str, arguments: dict[str, object]) -> None:
    actions = RequestedActions({"research"}, {"t1"})
    result = await Toolbox(ACTION_TOOLS, {RequestedActions: actions}).run(
        tool, json.dumps(arguments), tool_context("ana", "d1", client="internal")
    )
    assert result.error and actions.valid == []


async def test_four_actions_there_are_and_no_more_than_eight_at_once() -> None:
    assert {tool.name for tool in ACTION_TOOLS} == {
        "create_task",
        "cancel_task",
        "summarize_task_result",
        "capture_feedback",
    }
    actions = RequestedActions({"research"}, {"t1"})
    box, ana = Toolbox(ACTION_TOOLS, {RequestedActions: actions}), tool_context("ana", "d1", client="internal")
    for number in range(CREATE_LIMIT + 1):
        made = await box.run("create_task", json.dumps({"kind": "research", "instruction": f"Bees {number}"}), ana)
        assert bool(made.error) == (number == CREATE_LIMIT)
    for number in range(ACTIONS_LIMIT):
        await box.run("capture_feedback", json.dumps({"feeling": "wish", "text": f"{number}"}), ana)
    assert len(actions.valid) == ACTIONS_LIMIT == 8


async def test_actions_are_the_coordinators_and_nobody_elses() -> None:
    actions = RequestedActions({"research"}, {"t1"})
    box = Toolbox(ACTION_TOOLS, {RequestedActions: actions})
    for client in ("voice", "chat", "external"):
        refused = await box.run("cancel_task", '{"task_id": "t1"}', tool_context("ana", "s1", client=client))
        assert refused.error, client
    assert actions.valid == []


async def test_a_refused_action_can_be_put_right_in_the_same_digest() -> None:
    model = ScriptedModel(
        [call("cancel_task", '{"task_id": "gone"}')], [call("cancel_task", '{"task_id": "t1"}', "c2")], ["Stopped."]
    )
    decision = await _decider(model).decide(Digest("d1", USER, _said("Stop it."), tasks=[_task()]))
    assert [type(action).__name__ for action in decision.actions] == ["CancelTask"]
    assert decision.invalid == ("cancel_task: failed",) and decision.text == "Stopped."


# --- with which model ---------------------------------------------------------------------------------


async def test_the_fallback_thinks_when_the_model_is_away_and_both_attempts_are_archived() -> None:
    asked: list[str] = []

    def answer(request: Request) -> Reply:
        asked.append(request.json()["model"])
        return error(503) if asked[-1] == "small" else stream(words("Bees dance. Write to ana@example.org."), ended())

    redis, memory = FakeAsyncRedis(), FakeMemory()
    outbox = Outbox(memory)
    model_calls = ModelCallLog(redis, outbox)
    async with serving(answer) as server:
        completions = ChatCompletions(
            base_url=f"{server.url}/v1",
            api_key="k",
            limits=ModelLimits(backoff_s=0.01),
            fallbacks={"small": "large"},
            on_failure=model_calls.attempt_failed,
        )
        model = LoggedModel(completions, model_calls)
        decider = ModelDecider(model, "small", model_calls.scope, {"research"}, options())
        decision = await decider.decide(Digest("d1", USER, _said("And the bees?")))
        await completions.close()
    await outbox.drain(2.0)
    assert decision.text.startswith("Bees dance.") and asked[-1] == "large" and set(asked) == {"small", "large"}
    kept = await model_calls.export(USER)
    await redis.aclose()
    text = json.dumps(kept)
    assert "digest-d1" in text and "large" in text and "The model refuses (503)." in text
    assert "ana@example.org" not in text, "what is kept is redacted"


async def test_a_model_that_takes_too_long_is_given_up_and_the_fallback_is_used() -> None:
    model, quick = ScriptedModel([30.0, "Late."]), options(think_within_s=0.05)
    decider = ModelDecider(model, "slow", lambda name, owner: nullcontext(), {"research"}, quick)
    with pytest.raises(NoAnswer, match="within"):
        await decider.decide(Digest("d1", USER, _said("And the bees?")))


def _decider(model: ScriptedModel) -> ModelDecider:
    return ModelDecider(model, "fast", lambda name, owner: nullcontext(), {"research"}, options(think_within_s=5.0))


def _said(text: str) -> list[DigestItem]:
    return [DigestItem(ChannelEntry("1-0", "input", 1.0, text, "api"))]


def _task() -> Task:
    return Task("t1", USER, "", "research", "bees", 1.0, 1.0, state=TaskState.RUNNING)
