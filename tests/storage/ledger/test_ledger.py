"""What goes into the ledger is found again by its owner alone, once, in SQLite and in PostgreSQL."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.storage.ledger.database import address
from backend.storage.ledger.entries import Entry, of_message
from backend.storage.ledger.ledger import Ledger
from backend.storage.messages import Message, StoredCall
from tests.storage.ledger.conftest import opened

WEEK_S = 7 * 86_400


def said(
    entry_id: str, text: str, *, at: float = 1000.0, user: str = "ann", conversation: str = "trip", role: str = "user"
) -> Entry:
    return Entry(entry_id, user, conversation, at, "message", text, role=role, mode="voice")


async def test_a_conversation_is_found_again_in_its_order(ledger: Ledger) -> None:
    ledger.write(said("m1", "What is the weather?"), said("m2", "It is sunny.", at=1001, role="assistant"))
    ledger.write(said("m3", "Thank you.", at=1002))
    found = await ledger.messages("ann", "trip", 10)
    assert [(each.role, each.content, each.at) for each in found] == [
        ("user", "What is the weather?", 1000.0),
        ("assistant", "It is sunny.", 1001.0),
        ("user", "Thank you.", 1002.0),
    ]
    assert [each.content for each in await ledger.messages("ann", "trip", 1)] == ["Thank you."]
    [listed] = await ledger.conversations("ann")
    assert (listed.id, listed.title, listed.messages) == ("trip", "What is the weather?", 3)
    assert (listed.began_at, listed.updated_at) == (1000.0, 1002.0)


async def test_what_is_written_twice_is_kept_once(ledger: Ledger) -> None:
    ledger.write(said("m1", "hello"), said("m1", "hello"))
    assert len(await ledger.entries("ann", "trip")) == 1
    ledger.write(said("m1", "hello"))
    assert len(await ledger.entries("ann", "trip")) == 1
    ledger.write(said("m1", "hello", user="bob"))
    assert len(await ledger.export("bob")) == 1, "the same id is another entry of another user"


async def test_nobody_finds_what_is_somebody_elses(ledger: Ledger) -> None:
    ledger.write(said("m1", "my secret"))
    assert await ledger.messages("bob", "trip", 10) == []
    assert await ledger.entries("bob", "trip") == []
    assert await ledger.conversations("bob", containing="secret") == []
    await ledger.erase("bob")
    assert len(await ledger.export("ann")) == 1


async def test_conversations_are_searched_by_their_words_and_paged_by_their_time(ledger: Ledger) -> None:
    for index in range(5):
        ledger.write(said(f"m{index}", f"Tell me about CITY {index}% off", at=1000 + index, conversation=f"c{index}"))
    assert [each.id for each in await ledger.conversations("ann", containing="city 3")] == ["c3"]
    assert [each.id for each in await ledger.conversations("ann", containing="4% off")] == ["c4"]
    assert await ledger.conversations("ann", containing="4_ off") == [], "what is searched for is no pattern"
    assert [each.id for each in await ledger.conversations("ann", containing="city\0 4")] == ["c4"]
    assert await ledger.entries("ann", "c\09") == []
    page = await ledger.conversations("ann", limit=2)
    assert [each.id for each in page] == ["c4", "c3"]
    older = await ledger.conversations("ann", before=page[-1].updated_at, limit=2)
    assert [each.id for each in older] == ["c2", "c1"]


async def test_tool_calls_and_results_stand_beside_the_words(ledger: Ledger) -> None:
    call = StoredCall("c1", "get_current_weather", '{"location": "Rome"}')
    asked = Message("assistant", "", 1000.5, "chat", message_id="a1", tool_calls=(call,))
    result = Message("tool", '{"temperature": 20}', 1000.7, "chat", message_id="t1", tool_call_id="c1")
    for message in (asked, result):
        ledger.write(*of_message(message, "ann", "trip", platform="api"))
    entries = await ledger.entries("ann", "trip")
    assert [(each["kind"], each.get("name"), each["call_id"], each["platform"]) for each in entries] == [
        ("tool_call", "get_current_weather", "c1", "api"),
        ("tool_output", None, "c1", "api"),
    ]
    assert await ledger.messages("ann", "trip", 10) == []


async def test_any_text_is_kept_as_far_as_a_database_takes_it(ledger: Ledger) -> None:
    odd = replace(said("m1", "a\0b \ud800 \N{GRINNING FACE}"), name="n" * 500, platform="p" * 500)
    ledger.write(odd, said("m2", "x" * 200_000, at=1001))
    first, second = await ledger.entries("ann", "trip")
    assert first["text"] == "ab ? \N{GRINNING FACE}"
    assert (len(first["name"]), len(second["text"])) == (128, 100_000)


async def test_an_amended_answer_replaces_what_was_written_before(ledger: Ledger) -> None:
    ledger.write(said("m1", "It is"), said("m2", "sunny", at=1001), said("m3", "else", at=1002))
    ledger.amend("ann", "trip", ["m1", "m2"], "It is sunny today.")
    assert [each.content for each in await ledger.messages("ann", "trip", 10)] == ["It is sunny today.", "else"]


async def test_a_user_is_erased_moved_and_a_conversation_forgotten(ledger: Ledger) -> None:
    ledger.write(said("m1", "one"), said("m2", "two", conversation="other"), said("m3", "three", user="bob"))
    await ledger.forget("ann", "other")
    assert [each.id for each in await ledger.conversations("ann")] == ["trip"]
    ledger.write(said("m1", "one", user="bob"))
    await ledger.move("ann", "bob")
    assert {each["text"] for each in await ledger.export("bob")} == {"one", "three"}
    await ledger.erase("bob")
    assert await ledger.export("bob") == [] == await ledger.export("ann")


async def test_what_is_older_than_it_may_be_is_deleted_and_the_rest_found_after_a_week(url: str) -> None:
    now = time.time()
    async with opened(url) as first:
        first.write(said("old", "a month ago", at=now - 30 * 86_400), said("new", "a week ago", at=now - WEEK_S))
        await first.writer.settle()
    async with opened(url, keep_s=8 * 86_400) as later:
        await later.writer.settle()
        later.write(said("last", "now", at=now))
        assert [each["text"] for each in await later.export("ann")] == ["a week ago", "now"]


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense", "postgresql"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        address(url, Path("var"))
