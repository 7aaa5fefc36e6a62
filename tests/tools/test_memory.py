"""A user's memories through the tool: every action, its refusals, and who owns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.models.embedding import Embedder
from backend.tools.base import ToolContext
from backend.tools.memory import memory, to_you
from backend.tools.registry import Registry
from backend.users.memories import LIMIT, Memories
from backend.users.text_search import TextSearch
from backend.users.text_vectors import TextVectors
from tests.support.agents import toolbox
from tests.support.consent import tool_context

ADA, BO = tool_context("ada", "c1", "1"), tool_context("bo", "c2", "1")


class Animals:
    """An embedder that knows two things: animals, and everything else."""

    model = "animals"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if {"pet", "Rex"} & set(text.rstrip("?.").split()) else [0.0, 1.0] for text in texts]


def box(store: Memories | None = None, embedder: Embedder | None = None) -> Registry:
    """The tool over a store of its own."""
    redis = FakeAsyncRedis()
    kept = store or Memories(redis)
    texts = TextSearch(embedder, TextVectors(redis, "animals"))
    return toolbox(memory, services={Memories: kept, TextSearch: texts})


async def done(tools: Registry, who: ToolContext = ADA, **arguments: Any) -> dict[str, Any]:
    """The result of a call that must succeed."""
    result = await tools.run("memory", json.dumps(arguments), who)
    assert result.error is None, result.content
    assert not result.cacheable
    content: dict[str, Any] = json.loads(result.content)
    return content


async def refused(tools: Registry, who: ToolContext = ADA, **arguments: Any) -> tuple[str | None, str]:
    """The kind of failure, and the message for the model."""
    result = await tools.run("memory", json.dumps(arguments), who)
    return result.error, json.loads(result.content)["error"]["message"]


@pytest.mark.document("002", "built-in tools")
async def test_a_memory_is_created_found_read_changed_and_deleted() -> None:
    tools = box()
    made = (await done(tools, action="create", text="My sister's name is Anna.", tags=["Family"]))["created"]
    assert (made["text"], made["tags"]) == ("My sister's name is Anna.", ["family"])
    await done(tools, action="create", text="The bike is in the cellar.")
    found = await done(tools, action="search", query="What is my sister called?")
    assert [one["id"] for one in found["memories"]] == [made["id"]]
    assert found["of"] == 2
    id_ = made["id"]
    changed = await done(tools, action="update", memory_id=id_, text="My sister's name is Anne.")
    assert changed["updated"]["text"] == "My sister's name is Anne." and changed["updated"]["tags"] == ["family"]
    filed = await done(tools, action="update", memory_id=id_, tags=["people"])
    assert (await done(tools, action="get", memory_id=id_))["memory"] == filed["updated"]
    assert filed["updated"]["tags"] == ["people"]
    assert (await done(tools, action="delete", memory_id=id_))["deleted"]["text"] == "My sister's name is Anne."
    assert await refused(tools, action="get", memory_id=id_) == (
        "failed",
        "The user has no memory of this id. Search or list to get the ids there are.",
    )
    assert [one["text"] for one in (await done(tools, action="list"))["memories"]] == ["The bike is in the cellar."]


async def test_the_spoken_text_addresses_the_user() -> None:
    tools = box()
    assert (await done(tools, action="list"))["spoken"] == "You have not told me anything about that."
    made = await done(tools, action="create", text="My sister's name is Anna.")
    assert made["spoken"] == "I will remember: Your sister's name is Anna."
    assert (await done(tools, action="list"))["spoken"] == "You told me: Your sister's name is Anna."
    gone = await done(tools, action="delete", memory_id=made["created"]["id"])
    assert gone["spoken"] == "I have forgotten this: Your sister's name is Anna."
    assert to_you("i was in my room") == "You were in your room."


async def test_the_newest_are_listed_first_and_long_ones_shortened_but_read_whole() -> None:
    tools = box()
    await done(tools, action="create", text="First.")
    long = (await done(tools, action="create", text="word " * 150))["created"]
    listed = await done(tools, action="list", limit=1)
    assert listed["of"] == 2
    assert listed["memories"][0]["text"].endswith("…") and len(listed["memories"][0]["text"]) < 310
    assert (await done(tools, action="get", memory_id=long["id"]))["memory"]["text"] == ("word " * 150).strip()


async def test_a_repeated_memory_is_one_memory() -> None:
    tools = box()
    made = await done(tools, action="create", text="The bike is in the cellar.")
    again = await done(tools, action="create", text="the bike  is in the CELLAR.")
    assert again["memory"]["id"] == made["created"]["id"] and "already" in again["note"]
    assert (await done(tools, action="list"))["of"] == 1


async def test_with_an_embedder_memories_are_found_by_meaning_too() -> None:
    tools = box(embedder=Animals())
    await done(tools, action="create", text="Her dog is called Rex.")
    await done(tools, action="create", text="The bike is in the cellar.")
    found = await done(tools, action="search", query="Has she got a pet?")
    assert [one["text"] for one in found["memories"]] == ["Her dog is called Rex."]


async def test_a_user_cannot_reach_anothers_memories() -> None:
    tools = box()
    id_ = (await done(tools, action="create", text="A secret of Ada's."))["created"]["id"]
    assert (await done(tools, BO, action="list"))["memories"] == []
    assert (await done(tools, BO, action="search", query="secret of Ada"))["memories"] == []
    for arguments in ({"action": "get"}, {"action": "delete"}, {"action": "update", "text": "Mine."}):
        kind, message = await refused(tools, BO, memory_id=id_, **arguments)
        assert kind == "failed" and "secret" not in message
    assert (await done(tools, action="get", memory_id=id_))["memory"]["text"] == "A secret of Ada's."


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"action": "search"}, "search needs query."),
        ({"action": "search", "query": "  "}, "search needs query."),
        ({"action": "create"}, "create needs text."),
        ({"action": "update", "text": "x"}, "update needs memory_id."),
        ({"action": "update", "memory_id": "mem_1"}, "update needs a new text, or new tags."),
        ({"action": "delete"}, "delete needs memory_id."),
    ],
)
async def test_a_wrong_call_names_the_missing_argument(arguments: dict[str, Any], named: str) -> None:
    kind, message = await refused(box(), **arguments)
    assert kind == "failed" and message.startswith(named), message


async def test_over_the_limit_the_answer_says_what_was_dropped() -> None:
    store = Memories(FakeAsyncRedis())
    for number in range(LIMIT):
        await store.add("ada", f"Memory {number}.")
    tools = box(store)
    answer = await done(tools, action="create", text="One more.")
    assert "oldest was dropped" in answer["note"]
    assert (await done(tools, action="search", query="memory 0"))["of"] == LIMIT


async def test_only_a_known_user_has_memories_and_only_where_they_are_stored() -> None:
    assert (await refused(box(), tool_context(""), action="list"))[0] == "not_allowed"
    kind, message = await refused(toolbox(memory, services={Memories: None, TextSearch: None}), action="list")
    assert (kind, message) == ("failed", "Nothing can be remembered on this server.")
