"""What stays of tool calls when their turn is over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from backend.agent.context import as_api
from backend.errors import ModelUnavailable
from backend.storage.messages import Message
from backend.testing.model import ScriptedModel
from backend.tools.base import Result, tool
from tests.support.agents import Slow, agent, call, echo, fail
from tests.support.waiting import until


@tool("look_up", "Looks something up whose ids matter later.", persistent=True)
async def look_up(what: str) -> Result:
    """Finds one thing."""
    return Result({"id": 7, "what": what})


@tool("erase", "Erases.", confirm=True)
async def erase(what: str) -> Result:
    """Pretends to erase."""
    return Result({"erased": what})


class Kept:
    """A store that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: tuple[Message, ...] = ()

    async def load(self, conversation_id: str, user_id: str) -> list[Message]:
        return list(self.messages)

    async def save(self, conversation_id: str, user_id: str, messages: tuple[Message, ...]) -> None:
        self.messages = messages

    async def append(self, conversation_id: str, user_id: str, messages: Any) -> None:
        self.messages += tuple(messages)


def shape(messages: Any) -> list[str]:
    """Each message as its role and, of a call, the tools' names."""
    return [
        " ".join([message["role"], *(each["function"]["name"] for each in message.get("tool_calls", ()))])
        for message in messages
        if message["role"] != "system"
    ]


def called(tool_name: str, id_: str = "c1") -> Any:
    return call(tool_name, {"look_up": '{"what": "a"}', "erase": '{"what": "a"}'}.get(tool_name, '{"text": "a"}'), id_)


async def test_a_passing_call_is_shown_within_its_turn_and_in_no_later_one() -> None:
    model = ScriptedModel([called("echo")], ["It says a."], ["Yes."])
    session = agent(model, echo).create_session("c")
    await session.think("What does it say?")
    assert shape(model.requests[1]["messages"]) == ["user", "assistant echo", "tool"]
    await session.think("Sure?")
    assert shape(model.requests[2]["messages"]) == ["user", "assistant", "user"]


async def test_a_persistent_call_stays_with_its_result() -> None:
    model = ScriptedModel([called("look_up")], ["Found."], ["Yes."])
    session = agent(model, look_up).create_session("c")
    await session.think("Find a.")
    await session.think("Which id?")
    assert shape(model.requests[2]["messages"]) == ["user", "assistant look_up", "tool", "assistant", "user"]
    assert '"id": 7' in model.requests[2]["messages"][3]["content"]


async def test_of_calls_side_by_side_only_the_persistent_ones_stay() -> None:
    model = ScriptedModel([called("echo", "x"), called("look_up", "y")], ["Found."], ["Yes."])
    session = agent(model, look_up, echo).create_session("c")
    await session.think("Find a.")
    await session.think("And?")
    assert shape(model.requests[2]["messages"]) == ["user", "assistant look_up", "tool", "assistant", "user"]


async def test_a_failed_call_does_not_stay() -> None:
    model = ScriptedModel([call("look_up", "{}"), call("fail", "{}", "f")], ["I could not."], ["Yes."])
    session = agent(model, look_up, fail).create_session("c")
    await session.think("Find a.")
    assert [message.role for message in session.get_context().messages] == ["user", "assistant"]


async def test_a_call_that_waits_for_a_yes_stays_so_that_the_same_call_can_be_made() -> None:
    model = ScriptedModel([called("erase")], ["Shall I?"], ["Done."])
    session = agent(model, erase).create_session("c", user_id="ada")
    await session.think("Erase a.")
    await session.think("Yes.")
    assert shape(model.requests[2]["messages"]) == ["user", "assistant erase", "tool", "assistant", "user"]


async def test_words_said_beside_a_passing_call_stay() -> None:
    session = agent(ScriptedModel(["Let me look. ", called("echo")], ["It says a."]), echo).create_session("c")
    await session.think("x")
    assert [message.content for message in session.get_context().messages] == ["x", "Let me look. ", "It says a."]


async def test_the_store_is_given_what_stays() -> None:
    store = Kept()
    model = ScriptedModel([called("echo", "x"), called("look_up", "y")], ["Found."])
    await agent(model, look_up, echo, store=store).create_session("c").think("Find a.")
    assert shape(as_api(message) for message in store.messages) == ["user", "assistant look_up", "tool", "assistant"]


@pytest.mark.parametrize("end", ["cancelled", "failed", "abandoned"])
async def test_it_holds_for_a_turn_that_breaks_off(end: str) -> None:
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
