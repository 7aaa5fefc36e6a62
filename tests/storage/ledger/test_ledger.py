"""Entries of the ledger are stored once and found by their owner only, in SQLite and in PostgreSQL."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from backend.errors import SettingsError
from backend.storage.ledger import writer
from backend.storage.ledger.database import address, open_engine
from backend.storage.ledger.entries import Entry, of_message
from backend.storage.ledger.ledger import Ledger
from backend.storage.ledger.work import current_work, working
from backend.storage.messages import Message, StoredCall
from tests.storage.ledger.conftest import opened
from tests.support.waiting import until

WEEK_S = 7 * 86_400


def said(
    entry_id: str, text: str, *, at: float = 1000.0, user: str = "ann", conversation: str = "trip", role: str = "user"
) -> Entry:
    return Entry(entry_id, user, conversation, at, "message", text, role=role, mode="voice")


async def test_a_conversation_is_read_in_its_order(ledger: Ledger) -> None:
    ledger.write(said("m1", "What is the weather?"), said("m2", "It is sunny.", at=1001, role="assistant"))
    ledger.write(said("m3", "Thank you.", at=1002))
    found = await ledger.messages("ann", "trip", 10)
    assert [(each.role, each.content, each.timestamp) for each in found] == [
        ("user", "What is the weather?", 1000.0),
        ("assistant", "It is sunny.", 1001.0),
        ("user", "Thank you.", 1002.0),
    ]
    assert [each.content for each in await ledger.messages("ann", "trip", 1)] == ["Thank you."]
    [listed] = await ledger.conversations("ann")
    assert (listed.id, listed.title, listed.messages) == ("trip", "What is the weather?", 3)
    assert (listed.began_at, listed.updated_at) == (1000.0, 1002.0)


@pytest.mark.document("002", "ledger")
async def test_an_entry_that_is_written_twice_is_kept_once(ledger: Ledger) -> None:
    ledger.write(said("m1", "hello"), said("m1", "hello"))
    assert len(await ledger.entries("ann", "trip")) == 1
    ledger.write(said("m1", "hello"))
    assert len(await ledger.entries("ann", "trip")) == 1
    ledger.write(said("m1", "hello", user="bob"))
    assert len(await ledger.export("bob")) == 1, "the same id is another entry of another user"


async def test_a_user_finds_no_other_users_entries(ledger: Ledger) -> None:
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
    assert await ledger.conversations("ann", containing="4_ off") == [], "the search text is no pattern"
    assert [each.id for each in await ledger.conversations("ann", containing="city\0 4")] == ["c4"]
    assert await ledger.entries("ann", "c\09") == []
    page = await ledger.conversations("ann", limit=2)
    assert [each.id for each in page] == ["c4", "c3"]
    older = await ledger.conversations("ann", before=page[-1].updated_at, limit=2)
    assert [each.id for each in older] == ["c2", "c1"]


@pytest.mark.document("002", "ledger")
async def test_tools_models_and_cost_are_stored_with_their_message(ledger: Ledger) -> None:
    with working() as work:
        noted = current_work.get()
        assert noted
        noted.tool_called("get_current_weather", '{"location": "Rome"}', '{"temperature": 20}', None, 0.31)
        noted.tool_called("get_news_headlines", "{}", '{"error": {}}', "timeout", 2)
        noted.model_answered("small", 100, 7)
        noted.model_answered("large", 50, None)
    assert current_work.get() is None
    answer = said("a1", "It is 20 degrees.", at=time.time() + 1, role="assistant")
    ledger.write(*work.entries(answer), work.add_to(answer))
    *tools, found = await ledger.entries("ann", "trip")
    assert (found["model"], found["tokens"], found["cost_usd"]) == ("small, large", 150, 7e-6)
    assert [(each["kind"], each["name"], each["text"], each.get("took_ms")) for each in tools] == [
        ("tool_call", "get_current_weather", '{"location": "Rome"}', None),
        ("tool_output", "get_current_weather", '{"temperature": 20}', 310),
        ("tool_call", "get_news_headlines", "{}", None),
        ("tool_output", "get_news_headlines", '{"error": {}}', 2000),
    ]
    assert tools[0]["call_id"] == tools[1]["call_id"] != tools[2]["call_id"]
    assert {each["details"]["for"] for each in tools} == {"a1"}
    assert tools[3]["details"]["error"] == "timeout"
    assert [each.content for each in await ledger.messages("ann", "trip", 10)] == ["It is 20 degrees."]


def test_an_entry_without_words_is_no_message() -> None:
    call = StoredCall("c1", "get_current_weather", "{}")
    assert of_message(Message("assistant", " ", 1000.5, "chat", tool_calls=(call,)), "ann", "trip") is None
    assert of_message(Message("tool", "{}", 1000.7, "chat", tool_call_id="c1"), "ann", "trip") is None


async def test_an_older_version_uses_the_tables_of_a_newer_one(url: str, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(url) as newer:
        newer.write(said("m1", "Hello."))
        await newer.writer.settle()
    engine = open_engine(address(url, Path("unused")))
    try:
        async with engine.begin() as connection:
            await connection.execute(text("update alembic_version set version_num = '9999'"))
            await connection.execute(text("alter table ledger_entries add column mood varchar(8)"))
    finally:
        await engine.dispose()
    async with opened(url) as older:
        older.write(said("m2", "There.", at=1001))
        assert [each["text"] for each in await older.entries("ann", "trip")] == ["Hello.", "There."]
    assert "newer version" in caplog.text


async def test_any_text_is_kept_as_far_as_a_database_takes_it(ledger: Ledger) -> None:
    odd = replace(said("m1", "a\0b \ud800 \N{GRINNING FACE}"), name="n" * 500, platform="p" * 500)
    ledger.write(odd, said("m2", "x" * 200_000, at=1001))
    first, second = await ledger.entries("ann", "trip")
    assert first["text"] == "ab ? \N{GRINNING FACE}"
    assert (len(first["name"]), len(second["text"])) == (128, 100_000)


async def test_a_user_is_erased_and_a_conversation_deleted(ledger: Ledger) -> None:
    ledger.write(said("m1", "one"), said("m2", "two", conversation="other"), said("m3", "three", user="bob"))
    await ledger.forget("ann", "other")
    assert [each.id for each in await ledger.conversations("ann")] == ["trip"]
    await ledger.erase("ann")
    assert await ledger.export("ann") == []
    assert [each["text"] for each in await ledger.export("bob")] == ["three"]


async def test_expired_entries_are_deleted_and_the_rest_is_found_after_a_week(url: str) -> None:
    now = time.time()
    async with opened(url) as first:
        first.write(said("old", "a month ago", at=now - 30 * 86_400), said("new", "a week ago", at=now - WEEK_S))
        await first.writer.settle()
    async with opened(url, keep_s=8 * 86_400) as later:
        await later.writer.settle()
        later.write(said("last", "now", at=now))
        assert [each["text"] for each in await later.export("ann")] == ["a week ago", "now"]


async def test_expired_entries_are_deleted_even_if_nothing_is_written(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SWEEP_EVERY_S", 0.1)
    async with opened(url, keep_s=86_400) as ledger:
        ledger.write(said("old", "a month ago", at=time.time() - 30 * 86_400))
        await ledger.writer.settle()

        async def gone() -> bool:
            return not await ledger.export("ann")

        await until(gone)


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense", "postgresql"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        address(url, Path("var"))
