"""What a user wants to come back to: theirs alone, bounded, and brought up once."""

from __future__ import annotations

import asyncio
from zoneinfo import ZoneInfo

import msgspec
import pytest
from fakeredis import FakeAsyncRedis

from backend.errors import BadRequest, MemoryUnavailable
from backend.runtime.faults import skipped_records
from backend.users.notes import (
    CONVERSATION_LIMIT,
    OPEN_LIMIT,
    RESOLVED_LIMIT,
    RESOLVED_S,
    REST_S,
    TEXT_LIMIT,
    Notes,
    StoredNote,
)

NOON = 1_795_262_400.0  # Saturday, 2026-11-21, 12:00 UTC
TOMORROW = "2026-11-22T09:00:00"
LATER = NOON + 86_400


def notes(ttl_s: int | None = None) -> tuple[Notes, FakeAsyncRedis, list[float]]:
    """The store, its Redis, and its clock."""
    now, client = [NOON], FakeAsyncRedis()
    return Notes(client, ttl_s=ttl_s, clock=lambda: now[0]), client, now


async def brought_up(store: Notes, conversation: str, user: str = "ada", limit: int = 3) -> list[str]:
    return [one.text for one in await store.bring_up(user, conversation, zone=None, limit=limit)]


async def test_a_note_is_kept_snoozed_resolved_and_opened_again() -> None:
    store, _, now = notes()
    one = await store.add("ada", "  call the\n plumber ", TOMORROW)
    assert (one.text, one.due, one.created, one.open) == ("call the plumber", TOMORROW, NOON, True)
    now[0] += 60
    later = await store.snooze("ada", one.id, "2026-11-23")
    assert later is not None and (later.due, later.touched) == ("2026-11-23", NOON + 60)
    done = await store.resolve("ada", one.id)
    assert done is not None and not done.open
    assert await store.all("ada") == [done]
    again = await store.snooze("ada", one.id, TOMORROW)
    assert again is not None and again.open


async def test_nobody_finds_anothers() -> None:
    store, _, now = notes()
    one = await store.add("ada", "a secret", TOMORROW)
    now[0] = LATER
    assert await store.all("bo") == []
    assert await store.snooze("bo", one.id, TOMORROW) is None
    assert await store.resolve("bo", one.id) is None
    assert await brought_up(store, "c1", user="bo") == []
    assert await store.all("") == [] and await brought_up(store, "c1", user="") == []
    with pytest.raises(BadRequest):
        await store.add("", "nobody's")
    assert await store.all("ada") == [one]


async def test_they_are_exported_and_erased() -> None:
    store, client, _ = notes()
    one = await store.add("ada", "a secret", TOMORROW)
    await store.add("bo", "another")
    [exported] = msgspec.to_builtins(await store.export("ada"))
    assert (exported["id"], exported["text"], exported["due"]) == (one.id, "a secret", TOMORROW)
    await store.erase("ada")
    assert await store.export("ada") == []
    assert await client.keys() == [b"user:bo:notes"]


async def test_a_due_note_comes_up_once_in_each_conversation() -> None:
    store, _, now = notes()
    await store.add("ada", "call the plumber", TOMORROW)
    await store.add("ada", "some day")
    assert await brought_up(store, "c1") == []
    now[0] = LATER
    assert await brought_up(store, "c1") == ["call the plumber"]
    assert await brought_up(store, "c1") == []
    assert await brought_up(store, "c2") == ["call the plumber"]
    both = await asyncio.gather(*(brought_up(store, "c3") for _ in range(5)))
    assert sorted(both) == [[], [], [], [], ["call the plumber"]]


async def test_a_snoozed_note_comes_up_again_and_a_resolved_one_does_not() -> None:
    store, _, now = notes()
    one = await store.add("ada", "call the plumber", TOMORROW)
    now[0] = LATER
    assert await brought_up(store, "c1")
    await store.snooze("ada", one.id, "2026-11-24")
    assert await brought_up(store, "c1") == []
    now[0] += 2 * 86_400
    assert await brought_up(store, "c1") == ["call the plumber"]
    await store.resolve("ada", one.id)
    assert await brought_up(store, "c2") == []


async def test_the_longest_due_come_first_and_the_others_in_the_next_turn() -> None:
    store, _, now = notes()
    for hour in (12, 9, 11, 10):
        await store.add("ada", f"at {hour}", f"2026-11-22T{hour:02}:00:00")
    now[0] = LATER + 3_600
    assert await brought_up(store, "c1") == ["at 9", "at 10", "at 11"]
    assert await brought_up(store, "c1") == ["at 12"]


async def test_what_was_due_when_it_was_said_rests_for_a_while() -> None:
    store, _, now = notes()
    await store.add("ada", "water the plants", "2026-11-21")
    now[0] += 60
    assert await brought_up(store, "c1") == []
    now[0] = NOON + REST_S
    assert await brought_up(store, "c1") == ["water the plants"]


@pytest.mark.parametrize(
    ("due", "zone", "at"),
    [
        ("2026-11-22T09:00:00", None, "2026-11-22T09:00:00+00:00"),
        ("2026-11-22T09:00:00", "Asia/Tokyo", "2026-11-22T00:00:00+00:00"),
        ("2026-11-22T09:00:00-05:00", "Asia/Tokyo", "2026-11-22T14:00:00+00:00"),
        ("2026-11-22", "America/New_York", "2026-11-22T05:00:00+00:00"),
    ],
)
def test_a_time_without_an_offset_is_meant_where_the_user_is(due: str, zone: str | None, at: str) -> None:
    note = StoredNote("n", "x", 0.0, due)
    instant = note.due_at(ZoneInfo(zone) if zone else None)
    assert instant == StoredNote("n", "x", 0.0, at).due_at(None)
    assert StoredNote("n", "x", 0.0).due_at(None) is None


async def test_a_note_too_many_is_refused_and_nothing_falls_off() -> None:
    store, _, _now = notes()
    for number in range(OPEN_LIMIT):
        await store.add("ada", f"number {number}")
    with pytest.raises(BadRequest, match="100 open notes"):
        await store.add("ada", "one more")
    kept = await store.all("ada")
    assert len(kept) == OPEN_LIMIT
    await store.resolve("ada", kept[0].id)
    assert (await store.add("ada", "one more")).open


async def test_the_same_note_made_twice_is_one() -> None:
    store, _, _now = notes()
    one, two = await asyncio.gather(store.add("ada", "Buy milk", ""), store.add("ada", "buy milk", ""))
    assert one.id == two.id and len(await store.all("ada")) == 1
    await store.resolve("ada", one.id)
    assert (await store.add("ada", "Buy milk")).id != one.id


async def test_resolved_notes_go_after_a_month_or_when_there_are_too_many() -> None:
    store, _, now = notes()
    for number in range(RESOLVED_LIMIT + 2):
        now[0] += 1
        await store.resolve("ada", (await store.add("ada", f"number {number}")).id)
    kept = await store.all("ada")
    assert (len(kept), kept[0].text) == (RESOLVED_LIMIT, "number 2")
    await store.add("ada", "open")
    now[0] += RESOLVED_S
    assert [one.text for one in await store.all("ada")] == ["open"]


async def test_retention_is_renewed_by_a_change_and_the_conversations_remembered_are_bounded() -> None:
    store, client, now = notes(ttl_s=500)
    await store.add("ada", "call the plumber", TOMORROW)
    await client.expire("user:ada:notes", 10)
    now[0] = LATER
    for number in range(CONVERSATION_LIMIT + 3):
        await brought_up(store, f"c{number}")
    assert await client.ttl("user:ada:notes") > 400
    [one] = await store.all("ada")
    assert one.told == tuple(f"c{number}" for number in range(3, CONVERSATION_LIMIT + 3))


@pytest.mark.parametrize("text", ["", " \n ", "x" * (TEXT_LIMIT + 1)])
async def test_what_is_no_note_is_refused(text: str) -> None:
    store, _, _now = notes()
    with pytest.raises(BadRequest, match="1 to 500 characters"):
        await store.add("ada", text)


async def test_what_another_program_wrote_is_told_and_left_alone() -> None:
    store, client, _ = notes()
    await client.set("user:ada:notes", b"not json")
    with pytest.raises(MemoryUnavailable, match="notes cannot be read"):
        await store.add("ada", "fine")
    assert await client.get("user:ada:notes") == b"not json"


async def test_a_note_that_cannot_be_decoded_is_skipped_and_stays_and_a_newer_versions_field_is_ignored() -> None:
    skipped = skipped_records["notes"]
    odd = {"id": "note_0", "text": ["a form of a newer version"], "created": 1.0}
    newer = {"id": "note_1", "text": "water the plants", "created": 1.0, "colour": "green"}
    store, client, _ = notes()
    await client.set("user:ada:notes", msgspec.json.encode([odd, newer]))
    assert [note.text for note in await store.all("ada")] == ["water the plants"]
    await store.add("ada", "call Bo")
    assert [note.text for note in await store.all("ada")] == ["water the plants", "call Bo"]
    stored = msgspec.json.decode(await client.get("user:ada:notes") or b"[]")
    assert stored[0] == odd, "it is not destroyed by who cannot read it"
    assert skipped_records["notes"] >= skipped + 3


def test_nobodys_words_are_in_what_is_logged_of_a_note() -> None:
    assert "secret" not in repr(StoredNote("n1", "a secret", 0.0))
