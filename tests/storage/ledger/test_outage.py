"""A database that is slow, away, or killed with its writer: calls lose no time, and entries are stored once."""

import asyncio
import sqlite3
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.errors import LedgerUnavailable
from backend.storage import write_queue
from backend.storage.ledger.database import address, open_engine
from backend.storage.ledger.entries import Entry
from backend.storage.ledger.ledger import Ledger
from backend.storage.ledger.writer import LedgerWriter
from tests.storage.ledger.conftest import opened
from tests.support.postgres import running_postgres
from tests.support.waiting import until

WRITES = """
import asyncio, sys
from pathlib import Path
from backend.storage.ledger.entries import Entry
from backend.storage.ledger.ledger import open_ledger

async def main():
    async with open_ledger(sys.argv[1], Path("unused")) as ledger:
        for number in range(100_000):
            ledger.write(Entry(f"m{number}", "ann", "trip", float(number), "message", "hello", role="user"))
            if number % 50 == 0:
                await ledger.writer.settle()
                print(number, flush=True)

asyncio.run(main())
"""


def said(number: int) -> Entry:
    return Entry(f"m{number}", "ann", "trip", float(number), "message", f"text {number}", role="user")


async def test_entries_made_while_the_database_is_down_are_written_once_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write_queue, "REST_S", (0.05, 0.2))
    with running_postgres() as server:
        async with opened(server.empty_database()) as ledger:
            ledger.write(said(1))
            await ledger.writer.settle()
            server.stop()
            began = time.monotonic()
            for number in range(2, 500):
                ledger.write(said(number))
            assert time.monotonic() - began < 5, "writing waits for nothing"
            await until(lambda: bool(ledger.writer.outage))
            with pytest.raises(LedgerUnavailable):
                await ledger.messages("ann", "trip", 10)
            server.start()
            await until(lambda: not ledger.writer.outage and not ledger.writer.depth, 20)
            assert len(await ledger.entries("ann", "trip")) == 499
            assert ledger.writer.dropped == 0


async def test_without_a_database_only_the_oldest_entries_are_dropped(tmp_path: Path) -> None:
    engine = open_engine(address("postgresql://ledger@localhost:1/none", tmp_path))
    ledger_writer = LedgerWriter(engine, limit=3)
    for number in range(5):
        ledger_writer.write(said(number))
    await until(lambda: bool(ledger_writer.outage))
    with pytest.raises(LedgerUnavailable):
        await Ledger(engine, ledger_writer).erase("ann")
    assert ledger_writer.dropped >= 2 and ledger_writer.depth <= 3
    await ledger_writer.drain(0)


async def test_a_full_queue_drops_entries_before_a_deletion(tmp_path: Path) -> None:
    engine = open_engine(address(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path))
    ledger = Ledger(engine, LedgerWriter(engine, limit=3))
    ledger.write(said(1))
    await ledger.writer.settle()
    ledger.forget_soon("ann", "trip")
    for number in range(2, 7):
        ledger.write(replace(said(number), conversation_id="home"))
    assert (ledger.writer.dropped, ledger.writer.depth) == (3, 3)
    assert await ledger.entries("ann", "trip") == []
    await ledger.writer.drain(1)
    await engine.dispose()


async def test_a_refused_entry_takes_no_other_with_it(url: str) -> None:
    async with opened(url) as ledger:
        unwritable: list[Any] = [None, 2**70, {"set": {1}}]  # refused by the database, its driver, SQLAlchemy
        bad = (Entry(f"b{i}", "ann", "trip", 2.0, "message", "x") for i in range(3))
        changed = zip(bad, ("text", "tokens", "details"), unwritable, strict=True)
        ledger.write(said(1), *(replace(entry, **{name: value}) for entry, name, value in changed), said(3))
        assert [each["text"] for each in await ledger.entries("ann", "trip")] == ["text 1", "text 3"]
        assert ledger.writer.failed == 3


async def test_two_processes_write_one_database(url: str) -> None:
    async with opened(url) as first, opened(url) as second:
        for number in range(300):
            (first if number % 2 else second).write(said(number))
        await asyncio.gather(first.writer.settle(20), second.writer.settle(20))
        assert len(await first.entries("ann", "trip")) == 300


async def test_a_killed_process_loses_no_committed_entry_and_doubles_none(url: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITES, url, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert process.stdout
    committed = 0
    async with asyncio.timeout(30):
        while committed < 200:
            committed = int(await process.stdout.readline())
    process.kill()
    await process.wait()
    async with opened(url) as ledger:
        ledger.write(*(said(number) for number in range(committed + 1)))
        texts = [each["entry_id"] for each in await ledger.entries("ann", "trip")]
    assert texts[: committed + 1] == [f"m{number}" for number in range(committed + 1)]
    assert len(texts) == len(set(texts))


@pytest.mark.document("002", "logs and databases")
async def test_sqlite_lets_readers_read_and_keeps_the_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    async with opened(f"sqlite:///{path}") as ledger:
        ledger.write(said(1))
        await ledger.writer.settle()
        with sqlite3.connect(path) as connection:
            assert connection.execute("pragma journal_mode").fetchone() == ("wal",)
        assert path.stat().st_mode & 0o077 == 0
