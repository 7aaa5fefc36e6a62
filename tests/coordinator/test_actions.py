"""The actions of the coordinator: which are valid, how many it may request, and that no other client has them."""

import json
from contextlib import nullcontext

import pytest

from backend.coordinator.coordinator import Digest, DigestItem
from backend.coordinator.decider import (
    ACTIONS_LIMIT,
    CREATE_LIMIT,
    ModelDecider,
    RequestedActions,
    action_tools,
)
from backend.coordinator.store import SUMMARY_CHARS, ChannelEntry
from backend.tasks.task import Task, TaskState
from backend.testing.model import ScriptedModel
from tests.coordinator.world import USER
from tests.support.agents import call
from tests.support.consent import tool_context


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
async def test_an_invalid_action_is_refused(tool: str, arguments: dict[str, object]) -> None:
    actions = RequestedActions({"research"}, {"t1"})
    result = await action_tools(actions).run(tool, json.dumps(arguments), tool_context("ana", "d1", client="internal"))
    assert result.error and actions.valid == []


@pytest.mark.document("003", "actions")
async def test_there_are_four_kinds_of_actions_and_a_digest_may_request_eight() -> None:
    actions = RequestedActions({"research"}, {"t1"})
    box, ana = action_tools(actions), tool_context("ana", "d1", client="internal")
    assert {tool.name for tool in box.offered()} == {
        "create_task",
        "cancel_task",
        "summarize_task_result",
        "capture_feedback",
    }
    for number in range(CREATE_LIMIT + 1):
        made = await box.run("create_task", json.dumps({"kind": "research", "instruction": f"Bees {number}"}), ana)
        assert bool(made.error) == (number == CREATE_LIMIT)
    for number in range(ACTIONS_LIMIT):
        await box.run("capture_feedback", json.dumps({"feeling": "wish", "text": f"{number}"}), ana)
    assert len(actions.valid) == ACTIONS_LIMIT == 8


async def test_no_other_client_may_call_the_actions_of_the_coordinator() -> None:
    actions = RequestedActions({"research"}, {"t1"})
    box = action_tools(actions)
    for client in ("voice", "chat", "external"):
        refused = await box.run("cancel_task", '{"task_id": "t1"}', tool_context("ana", "s1", client=client))
        assert refused.error, client
    assert actions.valid == []


async def test_a_refused_action_can_be_corrected_in_the_same_digest() -> None:
    model = ScriptedModel(
        [call("cancel_task", '{"task_id": "gone"}')], [call("cancel_task", '{"task_id": "t1"}', "c2")], ["Stopped."]
    )
    decision = await _decider(model).decide(Digest("d1", USER, _said("Stop it."), tasks=[_task()]))
    assert [type(action).__name__ for action in decision.actions] == ["CancelTask"]
    assert decision.invalid == ("cancel_task: failed",) and decision.text == "Stopped."


def _decider(model: ScriptedModel) -> ModelDecider:
    return ModelDecider(model, "fast", lambda *_, **__: nullcontext(), {"research"})


def _said(text: str) -> list[DigestItem]:
    return [DigestItem(ChannelEntry("1-0", "input", 1.0, text, "api"))]


def _task() -> Task:
    return Task("t1", USER, "", "research", "bees", 1.0, 1.0, state=TaskState.RUNNING)
