"""The tool router chooses which of many tools a turn is offered."""

import asyncio
from typing import Any

import pytest

from backend.access.principal import EVERYTHING as REACH
from backend.agent.session import Agent
from backend.agent.tool_router import OFFERED_LIMIT, ToolRouter
from backend.errors import ModelUnavailable
from backend.models.base import Finished
from backend.storage.messages import Message, StoredCall
from backend.testing.model import ScriptedModel
from backend.tools.base import Result, tool
from backend.tools.registry import Registry
from tests.support.agents import toolbox
from tests.support.waiting import until


def numbered(number: int, **flags: Any) -> Any:
    @tool(f"tool_{number}", f"Does thing number {number}.", guidance=f"Mind {number}.", **flags)
    async def function() -> Result:
        return Result({"number": number})

    return function


def box(count: int = 20) -> Registry:
    """Return tools: `tool_0` is always offered, `tool_1` in calls only, the router chooses among the others."""
    return toolbox(
        numbered(0, always=True), numbered(1, clients=["voice"]), *(numbered(each) for each in range(2, count))
    )


EVERYTHING = ["tool_0", *(f"tool_{each}" for each in range(2, 20))]


def router(*scenes: Any, above: int = 5, within_s: float = 1.0) -> tuple[ToolRouter, ScriptedModel]:
    model = ScriptedModel(*scenes)
    return ToolRouter(model, "cheap", above, within_s), model


async def offered(router: ToolRouter, text: str = "Do it.", **more: Any) -> list[str]:
    routed, _ = await router.route(text, box(), "chat", REACH, **more)
    return [each.name for each in routed.offered("chat")]


@pytest.mark.document("002", "router")
async def test_the_tools_that_the_model_names_are_offered_beside_the_permanent_ones() -> None:
    routing, model = router(['["tool_7", ', '"tool_3"]'])
    assert set(await offered(routing)) == {"tool_0", "tool_3", "tool_7"}
    [request] = model.requests
    assert request["model"] == "cheap" and request["tools"] == []
    assert "Does thing number 7." in request["messages"][0]["content"]
    assert "tool_1:" not in request["messages"][0]["content"], "the catalogue has a tool of another client"
    assert request["messages"][1]["content"] == "Do it."


@pytest.mark.document("002", "router")
@pytest.mark.parametrize(
    "scene",
    [
        [ModelUnavailable("gone")],
        ["I would use tool_7."],
        ['{"tools": 7}'],
        ["[7]"],
        ['["tool_7"'],
        ['["no_such_tool"]'],
        ["[" * 5_000],
        [""],
        ['["tool_7"]', Finished("length")],
        [30.0, '["tool_7"]'],
    ],
    ids=["down", "prose", "object", "numbers", "cut", "unknown", "deep", "silent", "too long", "late"],
)
async def test_every_tool_is_offered_when_the_choice_fails(scene: Any) -> None:
    routing, _ = router(scene, within_s=0.1)
    assert sorted(await offered(routing)) == sorted(EVERYTHING)


@pytest.mark.document("002", "router")
@pytest.mark.parametrize("above", [0, 5, 150])
async def test_a_turn_is_never_offered_more_tools_than_a_model_takes(above: int) -> None:
    routing, _ = router([ModelUnavailable("gone")], ['["tool_190"]'], above=above)
    routed, _ = await routing.route("x", box(200), "chat", REACH)
    assert len(routed.names) == OFFERED_LIMIT and "tool_0" in routed.names
    routed, _ = await routing.route("x", box(200), "chat", REACH)
    assert set(routed.names) == {"tool_0", "tool_190"}


async def test_few_tools_need_no_choice() -> None:
    routing, model = router(above=19)
    assert await offered(routing) == EVERYTHING
    never, _ = router(above=0)
    assert await offered(never) == EVERYTHING
    assert model.requests == []


async def test_a_tool_that_waits_for_consent_is_always_offered() -> None:
    call = Message("assistant", "", 0.0, "chat", tool_calls=(StoredCall("c", "tool_9", "{}"),))
    result = Message("tool", "{}", 0.0, "chat", tool_call_id="c")
    routing, model = router(["[]"])
    earlier = [Message("user", "Erase <it>.", 0.0), call, result, Message("assistant", "Shall I?", 0.0)]
    assert set(await offered(routing, "Yes.", earlier=earlier)) == {"tool_0", "tool_9"}
    asked = model.requests[0]["messages"][0]["content"]
    assert "Shall I?" in asked and "<it>" not in asked, "the conversation is not quoted"


async def test_a_turn_gets_only_the_chosen_tools_and_their_guidance() -> None:
    model = ScriptedModel(['["tool_4"]'], ["Done."])
    agent = Agent(model, box(), "m", router=ToolRouter(model, "cheap", 5, 1.0))
    response = await agent.create_session("c").think("Do it.", "chat")
    assert response.text == "Done."
    request = model.requests[1]
    assert sorted(each["function"]["name"] for each in request["tools"]) == ["tool_0", "tool_4"]
    assert "Mind 4." in request["messages"][0]["content"] and "Mind 5." not in request["messages"][0]["content"]
    assert response.tokens_used == 30, "the tokens of the choice are not counted"


async def test_cancelling_a_turn_ends_the_choice() -> None:
    model = ScriptedModel([30.0, "[]"])
    session = Agent(model, box(), "m", router=ToolRouter(model, "cheap", 5, 9.0)).create_session("c")
    task = asyncio.create_task(session.think("Do it.", "chat"))
    await until(lambda: model.open == 1)
    session.cancel()
    assert (await asyncio.wait_for(task, 10)).state == "cancelled"
    assert model.open == 0
