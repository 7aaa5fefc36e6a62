"""After a turn the conversation keeps the calls of persistent tools only."""

import asyncio
from typing import Any

import pytest

from backend.agent.context import as_api
from backend.chat.history import ChatHistory
from backend.errors import ModelUnavailable
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.tools.base import Result, tool
from tests.support.agents import Slow, agent, call, echo, fail
from tests.support.waiting import until


@tool("look_up", "Looks something up whose ids matter later.", persistent=True)
async def look_up(what: str) -> Result:
    """Find one thing."""
    return Result({"id": 7, "what": what})


@tool("erase", "Erases.", confirm=True)
async def erase(what: str) -> Result:
    """Pretend to erase."""
    return Result({"erased": what})


def shape(messages: Any) -> list[str]:
    """Return each message's role, followed by the names of the tools it calls."""
    return [
        " ".join([message["role"], *(each["function"]["name"] for each in message.get("tool_calls", ()))])
        for message in messages
        if message["role"] != "system"
    ]


def called(tool_name: str, id_: str = "c1") -> Any:
    return call(tool_name, {"look_up": '{"what": "a"}', "erase": '{"what": "a"}'}.get(tool_name, '{"text": "a"}'), id_)


@pytest.mark.parametrize(
    ("calls", "stay"),
    [
        ([called("echo")], []),
        ([called("look_up")], ["look_up"]),
        ([called("echo", "x"), called("look_up", "y")], ["look_up"]),
        ([call("look_up", "{}"), call("fail", "{}", "f")], []),
        ([called("erase")], ["erase"]),
    ],
    ids=["passing", "persistent", "side by side", "failed", "waits for a yes"],
)
async def test_only_persistent_and_unconfirmed_calls_stay_after_their_turn(calls: list[Any], stay: list[str]) -> None:
    memory, model = FakeMemory(), ScriptedModel(["Hm. ", *calls], ["Found."], ["Yes."])
    store = ChatHistory(memory)
    session = agent(model, look_up, echo, fail, erase, store=store).create_session("c", user_id="ada")
    await session.think("Find a.")
    names = [each.name for each in calls]
    assert shape(model.requests[1]["messages"]) == ["user", " ".join(["assistant", *names]), *["tool"] * len(calls)]
    await session.think("And?")
    left = ["user", " ".join(["assistant", *stay]), *["tool"] * len(stay), "assistant"]
    assert shape(model.requests[2]["messages"]) == [*left, "user"]
    assert "Hm. " in [message["content"] for message in model.requests[2]["messages"]], (
        "the words beside the calls are gone"
    )
    assert shape(as_api(message) for message in await store.load("c", "ada"))[: len(left)] == left


@pytest.mark.parametrize("end", ["cancelled", "failed", "abandoned"])
async def test_a_turn_that_breaks_off_keeps_no_passing_calls(end: str) -> None:
    slow = Slow()
    then: list[Any] = [ModelUnavailable("gone")] if end == "failed" else [call("slow", id_="s")]
    session = agent(ScriptedModel([called("echo")], then), echo, slow.tool).create_session("c")
    task = asyncio.create_task(session.think("x", raises=True))
    if end == "failed":
        with pytest.raises(ModelUnavailable):
            await task
    else:
        await until(lambda: slow.running == 1)
        task.cancel() if end == "abandoned" else session.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [message.role for message in session.get_context().messages] == ["user"]
