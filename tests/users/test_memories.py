"""A user's memories, which belong to that user only."""

import msgspec
import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import BadRequest, MemoryUnavailable
from backend.users.memories import LIMIT, TAG_LIMIT, TEXT_LIMIT, Memories


def memories(ttl_s: int | None = None) -> tuple[Memories, FakeAsyncRedis, list[float]]:
    """The store, its Redis, and its clock."""
    now, client = [1_000.0], FakeAsyncRedis()
    return Memories(client, ttl_s=ttl_s, clock=lambda: now[0]), client, now


async def test_a_memory_is_kept_changed_and_deleted() -> None:
    store, _, now = memories()
    first = await store.add("ada", "  My bike is\n red. ", ["Bike", "bike ", ""])
    assert (first.text, first.created, first.tags) == ("My bike is red.", 1_000.0, ("bike",))
    now[0] += 1
    second = await store.add("ada", "My cat is called Rex.")
    assert await store.all("ada") == [second, first]
    changed = await store.update("ada", first.id, text="My bike is blue.")
    assert changed is not None
    assert (changed.text, changed.tags, changed.created) == ("My bike is blue.", ("bike",), 1_000.0)
    assert await store.get("ada", first.id) == changed
    assert await store.delete("ada", first.id) and not await store.delete("ada", first.id)
    assert await store.update("ada", first.id, text="It is back.") is None
    assert await store.all("ada") == [second]


async def test_a_user_does_not_find_anothers_memories() -> None:
    store, _, _now = memories()
    one = await store.add("ada", "A secret.")
    assert await store.all("bo") == []
    assert await store.get("bo", one.id) is None
    assert await store.update("bo", one.id, text="Mine.") is None
    assert not await store.delete("bo", one.id)
    assert await store.all("") == [] and await store.get("", one.id) is None
    with pytest.raises(BadRequest):
        await store.add("", "Nobody's.")


async def test_memories_are_exported_and_erased() -> None:
    store, client, _ = memories()
    one = await store.add("ada", "A secret.", ["x"])
    await store.add("bo", "Another.")
    exported = msgspec.json.decode(msgspec.json.encode(await store.export("ada")))
    assert exported == [{"id": one.id, "text": "A secret.", "created": 1_000.0, "tags": ["x"], "format": 1}]
    await store.erase("ada")
    assert await store.all("ada") == []
    assert await client.keys() == [b"user:bo:memories"]


async def test_the_oldest_is_dropped_and_retention_is_renewed() -> None:
    store, client, now = memories(ttl_s=500)
    for number in range(LIMIT + 3):
        now[0] += 1
        await store.add("ada", f"Number {number}")
    kept = await store.all("ada")
    assert (len(kept), kept[0].text, kept[-1].text) == (LIMIT, f"Number {LIMIT + 2}", "Number 3")
    await client.expire("user:ada:memories", 10)
    await store.update("ada", kept[0].id, tags=["new"])
    assert await client.ttl("user:ada:memories") > 400


async def test_an_unreadable_value_of_another_program_is_reported_and_left_unchanged() -> None:
    store, client, _ = memories()
    await client.set("user:ada:memories", b"not json")
    with pytest.raises(MemoryUnavailable, match="cannot be read"):
        await store.add("ada", "Fine.")
    assert await client.get("user:ada:memories") == b"not json"


@pytest.mark.parametrize(("text", "tags"), [("", []), ("x" * (TEXT_LIMIT + 1), []), ("x", ["a"] * 1 + ["b" * 41])])
async def test_an_invalid_memory_is_refused(text: str, tags: list[str]) -> None:
    store, _, _now = memories()
    with pytest.raises(BadRequest):
        await store.add("ada", text, tags)
    with pytest.raises(BadRequest):
        await store.add("ada", "x", [str(number) for number in range(TAG_LIMIT + 1)])
