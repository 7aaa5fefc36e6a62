"""The built-in steps, on stored facts and conversations of a user."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.agent.context import Exchange, Note
from backend.errors import ModelUnavailable, PeerError
from backend.middleware.base import Asked
from backend.middleware.pipeline import Pipeline, Prepared, discover
from backend.models.base import ChatModel
from backend.storage.memory import Memory
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.users.memories import Memories
from backend.users.profile_updates import AddFact, SetPreference, update_profile
from backend.users.text_search import TextSearch
from backend.users.text_vectors import TextVectors


class Vectors:
    """An embedder that knows two directions: animals and everything else."""

    model = "animals"

    def __init__(self, *, down: bool = False, takes_s: float = 0.0) -> None:
        self.down = down
        self.takes_s = takes_s

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.down:
            raise PeerError("No embeddings today.")
        await asyncio.sleep(self.takes_s)
        animals = ("cat", "dog", "pet", "rex")
        return [[1.0, 0.0] if any(animal in text.lower() for animal in animals) else [0.0, 1.0] for text in texts]


async def home(**services: Any) -> tuple[Pipeline, FakeMemory, Memories]:
    """All steps over a memory that knows Ada."""
    memory, redis = FakeMemory(), FakeAsyncRedis()
    memories = Memories(redis)
    await update_profile(memory, "ada", SetPreference("name", "Ada"), SetPreference("default_location", "Bergen"))
    await update_profile(memory, "ada", AddFact("has a cat called Rex"), AddFact("plays the cello"))
    await memories.add("ada", "The bike is in the cellar.")
    await memory.append_messages("ada", "old", Message("user", "My sister plays chess.", 1.0))
    await memory.append_messages("ada", "old", Message("assistant", "Chess is a fine game.", 2.0))
    await memory.append_messages("ada", "now", Message("user", "I said chess just now.", 3.0))
    await memory.append_messages("bo", "his", Message("user", "Bo plays chess in secret.", 4.0))
    texts = TextSearch(services.get("embedder"), TextVectors(redis, "animals"))
    kinds: dict[Any, Any] = {Memory: memory, Memories: memories, TextSearch: texts, ChatModel: services.get("model")}
    known = {kind: each for kind, each in kinds.items() if each is not None}
    options = {"memory_search": services.get("options", {})}
    return Pipeline(discover(), known, options=options, models={"fast": "the-fast"}), memory, memories


def found(prepared: Prepared, name: str) -> Any:
    note = prepared.outputs.get(name)
    return note.data if isinstance(note, Note) else None


async def asked(pipeline: Pipeline, text: str, user: str = "ada", **more: Any) -> Prepared:
    return await pipeline.before(Asked(text, user, "now", **more))


@pytest.mark.document("000", "memory and confidence")
async def test_a_step_describes_the_user() -> None:
    pipeline, _, _ = await home()
    prepared = await asked(pipeline, "Hello?")
    assert found(prepared, "speaker_facts") == {
        "name": "Ada",
        "default_location": "Bergen",
        "facts": ["has a cat called Rex", "plays the cello"],
    }
    assert found(await asked(pipeline, "Hello?", user="cy"), "speaker_facts") is None


@pytest.mark.document("000", "memory and confidence")
async def test_recall_finds_what_bears_on_the_question_in_every_store() -> None:
    pipeline, _, _ = await home()
    for question, source, text in (
        ("Where is my bike?", "memory", "The bike is in the cellar."),
        ("What is my cat called?", "fact", "has a cat called Rex"),
        ("Who plays chess?", "earlier conversation", "My sister plays chess."),
    ):
        (first, *_) = found(await asked(pipeline, question), "memory_search")
        assert first == {"from": source, "text": text}
    assert found(await asked(pipeline, "Who wrote Hamlet?"), "memory_search") is None


async def test_recall_leaves_out_other_users_the_assistants_words_and_this_conversation() -> None:
    pipeline, _, _ = await home()
    texts = [each["text"] for each in found(await asked(pipeline, "Who plays chess?"), "memory_search")]
    assert "My sister plays chess." in texts
    assert not {"Bo plays chess in secret.", "Chess is a fine game.", "I said chess just now."} & set(texts)
    assert (await asked(pipeline, "Who plays chess?", user="")).outputs == {}


async def test_an_embedding_model_finds_by_meaning() -> None:
    pipeline, _, _ = await home(embedder=Vectors())
    (only,) = found(await asked(pipeline, "Have I got a pet?"), "memory_search")
    assert only["text"] == "has a cat called Rex"
    for embedder in (Vectors(down=True), Vectors(takes_s=30.0)):
        pipeline, _, _ = await home(embedder=embedder)
        (only,) = found(await asked(pipeline, "Where is my bike?"), "memory_search")
        assert only["text"] == "The bike is in the cellar."


@pytest.mark.document("002", "built-in brainlets")
async def test_a_model_may_name_further_words_to_search_for() -> None:
    model = ScriptedModel(["bicycle\nbike "], [ModelUnavailable("no")])
    pipeline, _, _ = await home(model=model, options={"keywords": True, "temperature": 0.7})
    (only,) = found(await asked(pipeline, "How do I get to work?"), "memory_search")
    assert only["text"] == "The bike is in the cellar."
    [request] = model.requests
    assert request["options"].temperature == 0.7
    assert request["model"] == "the-fast" and "How do I get to work?" in str(request["messages"])
    (first, *_) = found(await asked(pipeline, "Who plays chess?"), "memory_search")
    assert first["text"] == "My sister plays chess.", "without the model, by the question's own words"


@pytest.mark.document("002", "built-in brainlets")
async def test_findings_may_take_the_form_of_a_tool_result() -> None:
    pipeline, _, _ = await home(options={"as_tool_result": True})
    prepared = await asked(pipeline, "Where is my bike?")
    exchange = prepared.outputs["memory_search"]
    assert isinstance(exchange, Exchange) and exchange.personal
    assert (exchange.tool, exchange.arguments) == ("memory_search", {"query": "Where is my bike?"})
    assert exchange.result == {"found": [{"from": "memory", "text": "The bike is in the cellar."}]}


async def test_thinkers_without_user_data_get_nothing_personal() -> None:
    pipeline, _, _ = await home()
    assert (await asked(pipeline, "Where is my bike?", domain="weather")).outputs == {}
    assert set((await asked(pipeline, "Where is my bike?", domain="knowledge")).outputs) == {
        "memory_search",
        "speaker_facts",
    }


async def test_a_turn_goes_on_while_memory_is_down() -> None:
    pipeline, memory, _ = await home()
    memory.down = True
    prepared = await asked(pipeline, "Where is my bike?")
    assert prepared.outputs == {}
    assert {outcome.name: outcome.kind for outcome in prepared.outcomes} == {
        "due_notes": "nothing",  # nothing waits here
        "memory_search": "failed",
        "speaker_facts": "failed",
    }
