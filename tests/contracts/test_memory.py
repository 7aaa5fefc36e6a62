"""The contract of a memory, tried on a real Redis, an embedded one, and the fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from backend.citations import Citation
from backend.storage.client import connect
from backend.storage.embedded import open_memory
from backend.storage.memory import HISTORY_LIMIT, HISTORY_TTL_S, Memory
from backend.storage.messages import Message, StoredCall
from backend.testing.memory import FakeMemory, age
from tests.support.redis_server import running_redis


@dataclass
class Case:
    """A memory, and a way to let time pass for it."""

    memory: Memory
    age: Callable[[int], Awaitable[None]]


@asynccontextmanager
async def in_process(folder: Path) -> AsyncIterator[Case]:
    memory = FakeMemory()
    yield Case(memory, memory.age)
    await memory.close()


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[Case]:
    with running_redis() as server:
        async with aclosing(connect(server.url)) as client:
            yield Case(Memory(client), partial(age, client))


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[Case]:
    opened = await open_memory(None, folder)
    assert "; survives a restart" in opened.label
    try:
        yield Case(opened.memory, partial(age, opened.memory._client.redis))
    finally:
        await opened.memory.close()


IMPLEMENTATIONS = [in_process, real, embedded]


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda implementation: implementation.__name__)
async def case(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Case]:
    async with request.param(tmp_path) as opened:
        yield opened


def said(text: str, role: Any = "user") -> Message:
    return Message(role, text, timestamp=1_700_000_000.5)


async def test_messages_are_read_in_the_order_in_which_they_were_added(case: Case) -> None:
    spoken = [said("hello"), said("good day – what may I do? ☂", "assistant"), said("the weather")]
    for message in spoken:
        await case.memory.append_messages("u1", "s1", message)
    assert await case.memory.recent_messages("u1", "s1") == spoken
    assert await case.memory.recent_messages("u1", "s1", limit=2) == spoken[1:]
    assert await case.memory.recent_messages("u1", "s1", limit=0) == []


async def test_only_the_newest_messages_are_kept(case: Case) -> None:
    for number in range(HISTORY_LIMIT + 5):
        await case.memory.append_messages("u1", "s1", said(str(number)))
    kept = await case.memory.recent_messages("u1", "s1", limit=10_000)
    assert len(kept) == HISTORY_LIMIT
    assert kept[0].content == "5"


async def test_conversations_are_separate_and_empty_for_another_user(case: Case) -> None:
    await case.memory.append_messages("u1", "s1", said("mine"))
    assert await case.memory.recent_messages("u1", "s2") == []
    assert await case.memory.recent_messages("u2", "s1") == []
    await case.memory.forget_conversation("u2", "s1")
    assert len(await case.memory.recent_messages("u1", "s1")) == 1


async def test_a_turn_with_tool_calls_is_read_completely(case: Case) -> None:
    asked = Message("assistant", "", 1.0, "chat", tool_calls=(StoredCall("c1", "echo", '{"text": "☂"}'),))
    result = Message("tool", '{"text": "☂"}', 2.0, "chat", tool_call_id="c1", citations=(Citation("A book"),))
    await case.memory.append_messages("u1", "s1", asked, result)
    assert await case.memory.recent_messages("u1", "s1") == [asked, result]


async def test_conversations_of_a_user_are_listed_from_the_latest_until_they_are_forgotten(case: Case) -> None:
    assert await case.memory.conversations("u1") == []
    await case.memory.append_messages("u1", "old", said("one"), said("two"))
    await case.memory.append_messages("u2", "other", said("not mine"))
    assert [(note.id, note.messages) for note in await case.memory.conversations("u1")] == [("old", 2)]
    await case.memory.forget_conversation("u1", "old")
    assert await case.memory.conversations("u1") == []
    assert await case.memory.recent_messages("u1", "old") == []
    assert await case.memory.export_user("u1") == {}


async def test_the_latest_conversations_are_read_together(case: Case) -> None:
    async def latest(conversations: int = 3, messages: int = 2, **besides: str) -> list[list[str]]:
        found = await case.memory.latest_messages("u1", conversations=conversations, messages=messages, **besides)
        return [[message.content for message in one] for one in found]

    assert await latest() == []
    for name in ("a", "b", "c"):
        await case.memory.append_messages("u1", name, said(f"{name} one"), said(f"{name} two"), said(f"{name} three"))
        await case.age(2)
    await case.memory.append_messages("u2", "other", said("not mine"))
    assert await latest() == [[f"{name} two", f"{name} three"] for name in ("c", "b", "a")]
    assert await latest(2, 1, besides="c") == [["b three"], ["a three"]]
    assert await latest(0) == await latest(3, 0) == []
    await case.memory.forget_conversation("u1", "b")
    assert await latest(3, 1) == [["c three"], ["a three"]]
    await case.age(HISTORY_TTL_S)
    assert await latest() == []


@pytest.mark.document("001", "conversation history")
async def test_a_conversation_expires_an_hour_after_its_last_message(case: Case) -> None:
    await case.memory.append_messages("u1", "s1", said("first"))
    await case.age(HISTORY_TTL_S - 60)
    await case.memory.append_messages("u1", "s1", said("second"))
    await case.age(HISTORY_TTL_S - 60)
    assert len(await case.memory.recent_messages("u1", "s1")) == 2
    await case.age(61)
    assert await case.memory.recent_messages("u1", "s1") == []


async def test_a_cached_value_expires(case: Case) -> None:
    await case.memory.cache_put("shared", "weather:1", "rain ☂", ttl_s=120)
    await case.memory.cache_put("u1", "weather:1", "rain at home", ttl_s=600)
    await case.age(115)
    assert await case.memory.cache_get("shared", "weather:1") == "rain ☂"
    await case.age(6)
    assert await case.memory.cache_get("shared", "weather:1") is None
    assert await case.memory.cache_get("u1", "weather:1") == "rain at home"
    assert await case.memory.cache_get("u2", "weather:1") is None


@pytest.mark.document("001", "user context")
async def test_the_context_of_a_user_does_not_expire_by_default(case: Case) -> None:
    changed = await case.memory.update_user_context("u1", lambda known: {**known, "name": "Zoë"})
    assert changed == {"name": "Zoë"}
    await case.age(10 * 86_400)
    assert await case.memory.user_context("u1") == {"name": "Zoë"}


async def test_concurrent_updates_are_all_kept(case: Case) -> None:
    def one_more(known: dict[str, Any]) -> dict[str, Any]:
        return {**known, "count": known.get("count", 0) + 1}

    await asyncio.gather(*(case.memory.update_user_context("u1", one_more) for _ in range(20)))
    assert await case.memory.user_context("u1") == {"count": 20}


async def test_an_update_that_raises_changes_nothing_and_does_not_block_the_next(case: Case) -> None:
    def fails(known: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("not today")

    await case.memory.update_user_context("u1", lambda known: {"name": "Zoë"})
    with pytest.raises(ValueError, match="not today"):
        await case.memory.update_user_context("u1", fails)
    assert await case.memory.update_user_context("u1", lambda known: {**known, "unit": "C"}) == {
        "name": "Zoë",
        "unit": "C",
    }


async def test_a_listener_gets_every_change_of_a_user_until_it_is_removed(case: Case) -> None:
    def fails(known: dict[str, Any]) -> None:
        raise RuntimeError(known["name"])

    seen: list[dict[str, Any]] = []
    case.memory.observers.add("u1", fails)
    unwatch = case.memory.observers.add("u1", seen.append)
    for _ in range(2):  # the second update changes nothing
        await case.memory.update_user_context("u1", lambda known: {"name": "Zoë"})
    await case.memory.update_user_context("u2", lambda known: {"name": "Ada"})
    await case.memory.forget_user("u1")
    unwatch()
    unwatch()
    await case.memory.update_user_context("u1", lambda known: {"name": "Zoë again"})
    assert seen == [{"name": "Zoë"}, {}]


async def test_all_data_of_a_user_can_be_read_and_forgotten(case: Case) -> None:
    for user in ("u1", "u2"):
        await case.memory.append_messages(user, f"of {user}", Message("user", "hello", 1.0, message_id="m1"))
        await case.memory.update_user_context(user, lambda known: {"name": "Zoë"})
        await case.memory.cache_put(user, "weather:home", "rain", ttl_s=120)
    hello = {"role": "user", "content": "hello", "at": 1.0, "source_mode": "voice", "message_id": "m1"}
    hello |= {"tool_call_id": None, "tool_calls": [], "citations": [], "format": 1}
    assert await case.memory.export_user("u1") == {
        "user:u1:context": {"name": "Zoë"},
        "user:u1:conversation:of u1": [hello],
        "user:u1:cache:weather:home": "rain",
    }
    await case.memory.forget_user("u1")
    assert await case.memory.export_user("u1") == {}
    assert await case.memory.recent_messages("u1", "of u1") == []
    assert len(await case.memory.export_user("u2")) == 3


async def test_every_change_renews_the_lifetime_of_the_context_of_a_user() -> None:
    memory = FakeMemory(user_ttl_s=100)
    await memory.update_user_context("u1", lambda known: {"name": "Zoë"})
    await memory.age(90)
    await memory.update_user_context("u1", lambda known: {**known, "unit": "C"})
    await memory.age(90)
    assert await memory.user_context("u1") == {"name": "Zoë", "unit": "C"}
    await memory.age(20)
    assert await memory.user_context("u1") == {}
