"""The knowledge Thinker: the model alone, with the last turns of the conversation."""

import asyncio
from typing import Any

import pytest

from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.thinkers import run as work
from tests.thinkers.world import world


class StuckMemory(FakeMemory):
    """Never answers."""

    async def recent_messages(self, user_id: str, conversation_id: str, limit: int = 20) -> list[Message]:
        await asyncio.sleep(30)
        return []


async def remember(memory: FakeMemory, turns: int) -> None:
    for turn in range(turns):
        await memory.append_messages("ada", "s1", Message("user", f"question {turn}", 1.0))
        await memory.append_messages("ada", "s1", Message("assistant", f"reply {turn}", 1.0))


@pytest.mark.document("001", "routing and Thinkers")
async def test_it_answers_with_the_advanced_model_and_no_tools() -> None:
    async with world(["Because of scattering."]) as w:
        answer = await w.ask("knowledge", "Why is the sky blue?")
        request = w.model.requests[0]
    assert (answer.text, answer.source, answer.tool_calls) == ("Because of scattering.", "model", 0)
    assert request["model"] == "gpt-5.4"
    assert request["tools"] == []


@pytest.mark.document("001", "conversation history")
async def test_it_gets_the_last_four_turns_as_data() -> None:
    async with world(["Yes."]) as w:
        await remember(w.memory, 6)
        await w.ask("knowledge", "And why?")
        assert "question 1" not in w.system()
        assert '{"role": "user", "text": "question 2"}' in w.system()
        assert '{"role": "assistant", "text": "reply 5"}' in w.system()
        assert len(w.model.requests[0]["messages"]) == 2


@pytest.mark.document("001", "rolling summary")
async def test_it_gets_the_users_summary_and_its_answer_is_theirs_alone() -> None:
    async with world(["For Ada."], ["For Bob."]) as w:
        await w.memory.update_user_context("ada", lambda _: {"summary": "Ada keeps bees."})
        await w.ask("knowledge", "What should I read?", user="ada")
        assert '{"summary": "Ada keeps bees."}' in w.system()
        assert (await w.ask("knowledge", "What should I read?", user="bob")).text == "For Bob."
        assert "bees" not in w.system()


@pytest.mark.parametrize("context", [{"summary": 3}, {"preferences": "none"}, {"preferences": {"name": ""}}])
async def test_a_context_in_an_unknown_form_is_ignored(context: dict[str, Any]) -> None:
    async with world(["Yes."]) as w:
        await w.memory.update_user_context("ada", lambda _: context)
        assert (await w.ask("knowledge", "Why?")).text == "Yes."
        assert "known of the user" not in w.system()


async def test_another_sessions_words_are_not_shown() -> None:
    async with world(["Yes."]) as w:
        await remember(w.memory, 2)
        await w.ask("knowledge", "And why?", session="other")
        assert "question" not in w.system().split("It is Saturday")[1]


async def test_an_unreachable_memory_costs_the_context_only() -> None:
    memory = FakeMemory()
    memory.down = True
    async with world(["Yes."], memory=memory) as w:
        assert (await w.ask("knowledge", "Why?")).text == "Yes."


async def test_a_slow_memory_costs_the_context_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "MEMORY_WITHIN_S", 0.05)
    async with world(["Yes."], memory=StuckMemory()) as w:
        async with asyncio.timeout(10):
            assert (await w.ask("knowledge", "Why?")).text == "Yes."
