"""Conversations with the agent outlive the process, and belong to one user."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from backend.agent.session import Agent
from backend.chat.history import ChatHistory
from backend.errors import ModelUnavailable
from backend.models.base import Delta
from backend.storage.embedded import open_memory
from backend.storage.memory import HISTORY_TTL_S
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.tools.base import Result, tool
from tests.support.agents import call, toolbox


@tool("echo", "Says it again.", persistent=True)
async def echo(text: str) -> Result:
    """Return the text; the conversation keeps the call."""
    return Result({"text": text})


def agent(model: ScriptedModel, memory: Any) -> Agent:
    return Agent(model, toolbox(echo), "m", store=ChatHistory(memory))


def shown(model: ScriptedModel) -> list[str]:
    """Return the conversation's texts in the newest request to the model."""
    return [message["content"] for message in model.requests[-1]["messages"][1:]]


@pytest.mark.document("000", "one context for an hour")
async def test_a_conversation_goes_on_after_a_restart_in_another_mode(tmp_path: Path) -> None:
    model = ScriptedModel(["Looking.", call("echo", '{"text": "hi"}')], ["It says hi."], ["As I said."])
    for mode, text in (("voice", "What does it say?"), ("chat", "Again?")):
        opened = await open_memory(None, tmp_path)
        try:
            session = agent(model, opened.memory).create_session("c", user_id="ada")
            await session.think(text, mode)  # type: ignore[arg-type]
        finally:
            await opened.memory.close()
    assert shown(model) == ["What does it say?", "Looking.", '{"text": "hi"}', "It says hi.", "Again?"]


@pytest.mark.document("000", "one context for an hour")
async def test_a_conversation_ends_after_an_idle_hour() -> None:
    memory, model = FakeMemory(), ScriptedModel(["One."], ["Two."], ["Three."])
    await agent(model, memory).create_session("c", user_id="ada").think("x")
    await memory.age(HISTORY_TTL_S - 60)
    await agent(model, memory).create_session("c", user_id="ada").think("x")
    assert shown(model) == ["x", "One.", "x"]
    await memory.age(HISTORY_TTL_S)
    await agent(model, memory).create_session("c", user_id="ada").think("y")
    assert shown(model) == ["y"]


async def test_a_conversation_is_empty_for_another_user_and_without_a_user() -> None:
    memory, model = FakeMemory(), ScriptedModel(["One."], ["Two."], ["Three."])
    for user in ("ada", "bob", ""):
        await agent(model, memory).create_session("c", user_id=user).think(f"I am {user}.")
        assert shown(model) == [f"I am {user}."]
    assert await ChatHistory(memory).load("c", "") == []


async def test_words_spoken_during_a_typed_turn_are_kept() -> None:
    memory = FakeMemory()

    class Speaking(ScriptedModel):
        """A model that gets a message of a call in the same conversation during its answer."""

        async def stream(self, *args: Any, **options: Any) -> AsyncGenerator[Delta, None]:
            await memory.append_messages("ada", "c", Message("user", "spoken", 1.0))
            async for delta in super().stream(*args, **options):
                yield delta

    await agent(Speaking(["One."]), memory).create_session("c", user_id="ada").think("typed", "chat")
    kept = await memory.recent_messages("ada", "c")
    assert [(one.content, one.source_mode) for one in kept] == [
        ("spoken", "voice"),
        ("typed", "chat"),
        ("One.", "chat"),
    ]


async def test_an_outage_of_memory_loses_the_history_and_is_reported() -> None:
    memory, model = FakeMemory(), ScriptedModel(["One."], ["Two."], ["Three."])
    answers, lost = [], []
    for text, down in (("x", False), ("y", True), ("z", False)):
        memory.down = down
        using = agent(model, memory)
        answers.append((await using.create_session("c", user_id="ada").think(text)).text)
        lost.append(cast(ChatHistory, using.store).lost)
    assert (answers, lost) == (["One.", "Two.", "Three."], [False, True, False])
    assert shown(model) == ["x", "One.", "z"]


async def test_a_turn_that_fails_before_its_first_word_leaves_nothing() -> None:
    memory, model = FakeMemory(), ScriptedModel([ModelUnavailable("gone")], ["One."])
    with pytest.raises(ModelUnavailable):
        await agent(model, memory).create_session("c", user_id="ada").think("x", raises=True)
    await agent(model, memory).create_session("c", user_id="ada").think("x")
    assert shown(model) == ["x"]


async def test_a_question_keeps_the_message_id_of_its_request() -> None:
    memory, model = FakeMemory(), ScriptedModel(["One."])
    answer = await agent(model, memory).create_session("c", user_id="ada").think("x", "chat", message_id="m1")
    assert [one.message_id for one in await memory.recent_messages("ada", "c")] == ["m1", answer.message_id]
