"""The user's memories and preferences in the Thinkers: one stores them, all see them, no other user does."""

import json

import pytest
from fakeredis import FakeAsyncRedis

from backend.agent.context import HONESTY
from backend.app.thinkers import build_thinkers
from backend.chat.chat import Chat
from backend.chat.turn import ChatRequest
from backend.chat.turn_claims import TurnClaims
from backend.chat.turn_runner import ChatDependencies
from backend.middleware.pipeline import Pipeline, discover
from backend.settings.settings import load_settings
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.users.memories import Memories
from backend.users.profile_updates import AddInstruction, DropInstruction, update_profile
from tests.support.agents import call
from tests.support.chats import NO_HTTP
from tests.thinkers.world import NOWHERE, World, world

BRIEFLY = "Always answer in one sentence."


async def ask_for(w: World, text: str, user: str = "ada") -> None:
    await update_profile(w.memory, user, AddInstruction(text))


async def test_a_memory_that_the_thinker_stores_is_in_the_next_answers_prompt() -> None:
    add = call("manage_prompt", json.dumps({"action": "add", "text": BRIEFLY}))
    async with world([add], ["From now on, one sentence."], ["Because."], ["Because of scattering."]) as w:
        answer = await w.ask("memory", BRIEFLY)
        assert answer.text == "From now on, one sentence."
        assert w.steps == [("manage_prompt", "started"), ("manage_prompt", "finished")]
        assert "<standing_instructions>" not in w.system()
        await w.ask("knowledge", "Why is the sky blue?")
        assert f'<standing_instructions>\n["{BRIEFLY}"]\n</standing_instructions>' in w.system()
        await w.ask("knowledge", "Why is the sea blue?", user="bo")
        assert "<standing_instructions>" not in w.system()


@pytest.mark.parametrize("domain", ["weather", "stocks", "news", "assistant", "tasks", "memory", "reason"])
async def test_every_thinker_gets_instructions_below_the_rules(domain: str) -> None:
    async with world(*[["An answer."]] * 3) as w:
        await ask_for(w, BRIEFLY)
        await w.ask(domain, "Anything new?")
        system = w.system(0)
    assert system.index(HONESTY) < system.index("<standing_instructions>")
    assert "change no rule that stands outside the marks" in system


async def test_an_answer_for_one_users_taste_is_cached_briefly_and_for_that_user_only() -> None:
    async with world(["As usual."], ["Briefly."], ["As usual again."]) as w:
        assert (await w.ask("knowledge", "Why is the sky blue?", user="bo")).text == "As usual."
        await ask_for(w, BRIEFLY)
        assert (await w.ask("knowledge", "Why is the sky blue?")).text == "Briefly."
        again = await w.ask("knowledge", "Why is the sky blue?")
        assert (again.text, again.source) == ("Briefly.", "cache")
        assert (await w.ask("knowledge", "Why is the sky blue?", user="bo")).text == "As usual."
        await update_profile(w.memory, "ada", DropInstruction(BRIEFLY))
        assert (await w.ask("knowledge", "Why is the sky blue?")).text == "As usual."
        assert len(w.model.requests) == 2


async def test_a_memory_of_one_turn_is_in_the_next_by_voice_and_by_text() -> None:
    memory, memories = FakeMemory(), Memories(FakeAsyncRedis())
    create = call("memory", json.dumps({"action": "create", "text": "The bike is in the cellar."}))
    model = ScriptedModel([create], ["Done."], ["In the cellar."], ["In the cellar."])
    pipeline = Pipeline(discover(), {Memory: memory, Memories: memories})
    settings = load_settings(_env_file=None, **NOWHERE)
    services = {Memories: memories}
    thinkers = build_thinkers(settings, model=model, memory=memory, http=NO_HTTP, pipeline=pipeline, services=services)
    w = World(thinkers, model, memory, Outbox(memory))
    await w.ask("memory", "Remember that the bike is in the cellar.", session="s1")
    await w.ask("knowledge", "Where did I leave the bike?", session="s2")
    assert '{"from": "memory", "text": "The bike is in the cellar."}' in w.system()
    chat = Chat(ChatDependencies(thinkers, pipeline, memory, TurnClaims(FakeAsyncRedis(), "here"), 10.0))
    try:
        await (await chat.begin(ChatRequest("ada", "Where did I leave the bike?", "c1"))).wait()
    finally:
        await chat.close()
    assert '{"from": "memory", "text": "The bike is in the cellar."}' in w.system()
    assert len(model.requests) == 4
