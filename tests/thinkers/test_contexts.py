"""Conversations with the agent outlive the process, and belong to one user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backend.agent.context import ContextMessage
from backend.agent.session import Agent
from backend.memory.base import HISTORY_TTL_S
from backend.memory.embedded import open_memory
from backend.memory.fake import FakeMemory
from backend.models.fake import FakeChatModel
from backend.thinkers.contexts import MemoryContexts
from tests.support.minds import call, echo, toolbox


class Time:
    """Seconds, set by the test."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def agent(model: FakeChatModel, memory: Any) -> Agent:
    return Agent(model, toolbox(echo), "m", store=MemoryContexts(memory))


def told(model: FakeChatModel) -> list[str]:
    """What the model was shown of the conversation, last time."""
    return [message["content"] for message in model.requests[-1]["messages"][1:]]


async def test_a_conversation_goes_on_after_a_restart_in_another_mode(tmp_path: Path) -> None:
    model = FakeChatModel(["Looking.", call("echo", '{"text": "hi"}')], ["It says hi."], ["As I said."])
    for mode, text in (("voice", "What does it say?"), ("chat", "Again?")):
        opened = await open_memory(None, tmp_path)
        try:
            session = agent(model, opened.memory).create_session("c", user_id="ada")
            await session.think(text, mode)  # type: ignore[arg-type]
        finally:
            await opened.memory.close()
    assert told(model) == ["What does it say?", "Looking.", '{"text": "hi"}', "It says hi.", "Again?"]


async def test_an_idle_hour_ends_it() -> None:
    clock = Time()
    memory, model = FakeMemory(clock), FakeChatModel(["One."], ["Two."], ["Three."])
    await agent(model, memory).create_session("c", user_id="ada").think("x")
    clock.now = HISTORY_TTL_S - 1.0
    await agent(model, memory).create_session("c", user_id="ada").think("x")
    assert told(model) == ["x", "One.", "x"]
    clock.now = 2.0 * HISTORY_TTL_S
    await agent(model, memory).create_session("c", user_id="ada").think("y")
    assert told(model) == ["y"]


async def test_another_user_or_nobody_who_names_it_finds_nothing() -> None:
    memory, model = FakeMemory(), FakeChatModel(["One."], ["Two."], ["Three."])
    for user in ("ada", "bob", ""):
        await agent(model, memory).create_session("c", user_id=user).think(f"I am {user}.")
        assert told(model) == [f"I am {user}."]
    assert await MemoryContexts(memory).load("c", "") == []


async def test_forgetting_the_user_forgets_it() -> None:
    contexts = MemoryContexts(memory := FakeMemory())
    await contexts.save("c", "ada", (ContextMessage("user", "x", 1.0),))
    await memory.forget_user("ada")
    assert await contexts.load("c", "ada") == []


@pytest.mark.parametrize("garbage", ["{", "3", '"x"', "[3]", '[{"role": "user"}]', '[{"odd": 1}]'])
async def test_what_cannot_be_read_starts_anew(garbage: str) -> None:
    contexts = MemoryContexts(memory := FakeMemory())
    await contexts.save("c", "ada", (ContextMessage("user", "x", 1.0),))
    for kept in memory._kept.values():
        kept.value = garbage
    assert await contexts.load("c", "ada") == []
