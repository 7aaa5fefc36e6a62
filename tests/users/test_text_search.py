"""The search of a user's texts by words and by meaning."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import ModelUnavailable
from backend.users.memories import Memories
from backend.users.text_search import BATCH, TextSearch
from backend.users.text_vectors import KEPT_S, TextVectors, vectors_key

PETS = ("rex", "pet", "dog", "barks")


@dataclass
class Model:
    """An embedding model with two kinds of texts: about pets, and about other things."""

    model: str = "meaning-1"
    asked: list[str] = field(default_factory=list)
    is_gone: bool = False
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        await self.may_answer.wait()
        if self.is_gone:
            raise ModelUnavailable("The model is gone.")
        self.asked += texts
        return [self.vector(text) for text in texts]

    @staticmethod
    def vector(text: str) -> list[float]:
        """The meaning of a text: pets point one way, other things at a right angle to it."""
        if any(pet in text.lower() for pet in PETS):
            return [1.0, 0.1, 0.0]
        return [0.0, 1.0, (len(text) % 7) / 7]


class World:
    """A user's memories, the search, and the parts under both."""

    def __init__(self) -> None:
        self.model, self.redis = Model(), FakeAsyncRedis()
        self.memories = Memories(self.redis)

    def search(self, name: str = "meaning-1") -> TextSearch:
        """A search with a model of that name; new, as after a restart."""
        self.model.model = name
        return TextSearch(self.model, TextVectors(self.redis, name))

    async def texts(self) -> list[str]:
        """Ada's memories, the newest first."""
        return [one.text for one in await self.memories.all("ada")]


async def found(search: TextSearch, question: str, texts: list[str], limit: int = 3, **more: bool) -> list[str]:
    return [texts[place] for place in await search.fitting("ada", question, texts, limit, **more)]


async def test_the_first_of_a_hundred_memories_is_found_by_its_meaning() -> None:
    at = World()
    await at.memories.add("ada", "Rex barks at the postman.")
    for number in range(99):
        await at.memories.add("ada", f"Remark number {number} on gardening.")
    search, texts = at.search(), await at.texts()
    await found(search, "Has she got a pet?", texts)
    await search.settle()  # the rest is embedded in the background
    assert await found(search, "Has she got a pet?", texts) == ["Rex barks at the postman."]


async def test_each_text_is_embedded_only_once() -> None:
    at = World()
    for number in range(BATCH + 10):
        await at.memories.add("ada", f"Remark number {number} on gardening.")
    texts = await at.texts()
    for search in (at.search(), at.search()):  # as after a restart
        await found(search, "Any pet?", texts)
        await search.settle()
    assert sorted(at.model.asked) == sorted([*texts, "Any pet?", "Any pet?"])
    await at.memories.add("ada", "Her dog is old.")
    assert await found(at.search(), "Any pet?", await at.texts()) == ["Her dog is old."]
    assert len(at.model.asked) == BATCH + 10 + 4


@pytest.mark.document("002", "built-in brainlets")
async def test_words_and_meaning_count_together_and_neither_hides_the_other() -> None:
    at = World()
    for text in ("Rex barks at the postman.", "The bike is in the cellar.", "Her dog likes the cellar."):
        await at.memories.add("ada", text)
    search, texts = at.search(), await at.texts()
    assert await found(search, "Which pet is in the cellar?", texts) == [
        "Her dog likes the cellar.",
        "The bike is in the cellar.",
        "Rex barks at the postman.",
    ]
    assert await found(search, "Where is the bike?", texts, 1) == ["The bike is in the cellar."]


async def test_without_an_answer_of_the_model_words_are_searched_and_meanings_follow_later() -> None:
    at = World()
    for text in ("Rex barks at the postman.", "The bike is in the cellar."):
        await at.memories.add("ada", text)
    search, texts = at.search(), await at.texts()
    at.model.is_gone = True
    assert await found(search, "Where is the bike?", texts) == ["The bike is in the cellar."]
    assert await found(search, "Has she got a pet?", texts) == []
    await search.settle()
    at.model.is_gone = False
    at.model.may_answer.clear()
    assert await found(search, "Where is the bike?", texts) == ["The bike is in the cellar."]
    at.model.may_answer.set()
    await search.settle()
    assert await found(search, "Has she got a pet?", texts) == ["Rex barks at the postman."]


async def test_vectors_of_another_model_are_made_again_and_never_mixed() -> None:
    at = World()
    await at.memories.add("ada", "Rex barks at the postman.")
    texts = await at.texts()
    await found(at.search("meaning-1"), "Any pet?", texts)
    assert await found(at.search("meaning-2"), "Any pet?", texts) == texts
    assert at.model.asked.count(texts[0]) == 2


async def test_a_vector_is_deleted_with_its_text_with_its_user_and_in_time() -> None:
    at = World()
    kept = await at.memories.add("ada", "Rex barks at the postman.")
    gone = await at.memories.add("ada", "The bike is in the cellar.")
    changed = await at.memories.add("ada", "Her dog likes snow.")
    search = at.search()
    await found(search, "Any pet?", [*await at.texts(), "said in passing"])
    assert await at.redis.hlen(vectors_key("ada")) == 4
    assert 0 < await at.redis.ttl(vectors_key("ada")) <= KEPT_S
    await at.memories.delete("ada", gone.id)
    await at.memories.update("ada", changed.id, text="Her dog likes rain.")
    await at.memories.update("ada", kept.id, tags=["pets"])
    assert await at.redis.hlen(vectors_key("ada")) == 2, "the vector of the remaining text, and of the conversation"
    await found(search, "Any pet?", await at.texts(), whole=True)
    assert await at.redis.hlen(vectors_key("ada")) == 2, "the conversation is gone, the changed text is there"
    await at.memories.erase("ada")
    assert await at.redis.keys("user:ada:*") == []


async def test_texts_that_are_embedded_during_an_erasure_leave_no_vectors() -> None:
    at = World()
    await at.memories.add("ada", "Rex barks at the postman.")
    search, texts = at.search(), await at.texts()
    at.model.may_answer.clear()
    asked = asyncio.create_task(found(search, "Any pet?", texts))
    await asyncio.sleep(0.05)
    await search.forget("ada")
    await at.memories.erase("ada")
    at.model.may_answer.set()
    await asked
    await search.settle()
    assert await at.redis.keys("user:ada:*") == []


async def test_an_unknown_user_has_a_search_by_words_only() -> None:
    at = World()
    assert await at.search().fitting("", "Where is the bike?", ["The bike is red."], 3) == [0]
    assert at.model.asked == []
