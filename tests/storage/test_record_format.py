"""Two versions of a record in one store: each reads what it understands and keeps the other's records."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest
from redis.asyncio import Redis

from backend.coordinator.store import HistoryEntry, Plan
from backend.notifications.deletions import Deletion
from backend.notifications.notices import Notice
from backend.notifications.reminders import Reminder
from backend.storage.messages import Message
from backend.storage.record_format import FORMAT
from backend.tasks.task import Task
from backend.users.lists import UserLists
from backend.users.memories import Memories, StoredMemory

RECORDS: list[Any] = [
    Task("t1", "ann", "trip", "research", "Why?", 1.0, 1.0),
    Reminder("r1", "ann", "tea", 1.0, 2.0),
    Notice("n1", "tea", at=1.0),
    Deletion("d1", "traces", "ann", 1.0),
    StoredMemory("m1", "likes tea", 1.0),
    Message("user", "tea", 1.0, message_id="m1"),
    HistoryEntry("h1", 1.0, "input", "tea"),
    Plan("p1", 1.0, ("h1",)),
]


@dataclass(frozen=True, slots=True)
class NewerMemory:
    """A memory as a later version may have it: one field more, and a format that the present version would misread."""

    id: str
    text: str
    created: float
    tags: tuple[str, ...] = ()
    colour: str = "blue"
    format: Annotated[int, msgspec.Meta(ge=1, le=FORMAT + 1)] = FORMAT


class NewerMemories(UserLists[NewerMemory]):
    """The lists of that version."""

    name = Memories.name
    kind = NewerMemory


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_every_record_has_its_version_and_a_higher_one_is_not_read(record: Any) -> None:
    stored = msgspec.to_builtins(record)
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(type(record)).decode
    assert stored["format"] == FORMAT
    assert decode(msgspec.json.encode(stored | {"added_later": 1})) == record
    del stored["format"]
    assert decode(msgspec.json.encode(stored)) == record, "written before records had a version"
    with pytest.raises(msgspec.ValidationError):
        decode(msgspec.json.encode(stored | {"format": FORMAT + 1}))


async def test_an_older_and_a_newer_server_change_one_list(redis: Redis) -> None:
    older, newer = Memories(redis), NewerMemories(redis)
    await older.change("ann", lambda kept: [*kept, StoredMemory("m1", "likes tea", 1.0)])
    both = [NewerMemory("m2", "drinks coffee", 2.0), NewerMemory("m3", "dislikes milk", 3.0, format=FORMAT + 1)]
    await newer.change("ann", lambda kept: [*kept, *both])
    assert [each.id for each in await older.read("ann")] == ["m1", "m2"]
    await older.change("ann", lambda kept: [each for each in kept if each.id != "m1"])
    assert {each.id for each in await newer.read("ann")} == {"m2", "m3"}, (
        "a record that it cannot read stays in its place"
    )
    exported = await older.export("ann")
    assert exported[-1]["unreadable"]["text"] == "dislikes milk"
    assert [each.id for each in exported[:-1]] == ["m2"]
    await older.erase("ann")
    assert await newer.read("ann") == [] == await older.export("ann")
