"""Events in files: whole or not at all, their owner's alone, and nothing left when they are erased."""

from __future__ import annotations

import asyncio
import fcntl
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backend.extensions.calendar import local
from backend.extensions.calendar.base import CalendarRefused, CalendarUnavailable
from backend.extensions.calendar.local import LocalStore
from tests.extensions.calendar.events_of import DAY, at, event

TEXT = event(at("2026-10-30 09:30"), at("2026-10-30 10:00"))
FIRST = datetime(2026, 10, 1, tzinfo=UTC)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]


def everything_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


async def test_files_are_the_owners_alone_and_name_nobody(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "calendars")
    await store.create("ada@example.com", "a.ics", TEXT)
    [file] = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "ada" not in str(file.relative_to(tmp_path))
    assert file.read_text().startswith("BEGIN:VCALENDAR")


async def test_erasing_leaves_nothing_of_a_user(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    await store.create("ada", "a.ics", TEXT)
    await store.erase("ada")
    assert everything_in(tmp_path) == ["lock"]


async def test_a_broken_file_costs_one_event_and_a_draft_left_behind_none(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    await store.create("ada", "a.ics", TEXT)
    folder = files(tmp_path)[0].parent
    (folder / "b.ics").write_bytes(b"\xff\xfe garbage")
    (folder / "c.new").write_text("half an ev")
    assert [one.id for one in await store.between("ada", FIRST, FIRST + 40 * DAY)] == ["a.ics", "b.ics"]


async def test_whoever_waits_too_long_for_the_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LOCK_WITHIN_S", 0.05)
    store = LocalStore(tmp_path)
    await store.create("ada", "a.ics", TEXT)
    with (tmp_path / "lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(CalendarUnavailable):
            await store.create("ada", "b.ics", TEXT)
        assert len(await store.between("ada", FIRST, FIRST + 40 * DAY)) == 1  # readers need no lock
    await store.create("ada", "b.ics", TEXT)


async def test_a_full_calendar_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "EVENT_LIMIT", 2)
    store = LocalStore(tmp_path)
    for number in range(2):
        await store.create("ada", f"{number}.ics", TEXT)
    with pytest.raises(CalendarRefused, match="full"):
        await store.create("ada", "2.ics", TEXT)
    await store.create("bob", "2.ics", TEXT)


async def test_an_event_too_long_to_be_kept_is_refused_whole(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    with pytest.raises(CalendarRefused):
        await store.create("ada", "a.ics", "x" * (local.TEXT_LIMIT + 1))
    assert files(tmp_path) == []


async def test_a_folder_that_cannot_be_used_is_a_failure_that_may_pass(tmp_path: Path) -> None:
    (tmp_path / "calendars").write_text("in the way")
    with pytest.raises(CalendarUnavailable):
        await LocalStore(tmp_path / "calendars").create("ada", "a.ics", TEXT)


async def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    await store.create("ada", "a.ics", TEXT)
    long = TEXT.replace("SUMMARY:Standup", "SUMMARY:" + "x" * 50_000)

    async def write() -> None:
        for number in range(30):
            await store.replace("ada", await store.get("ada", "a.ics"), TEXT if number % 2 else long)

    async def read() -> None:
        for _ in range(60):
            assert (await store.get("ada", "a.ics")).text in (TEXT, long)

    await asyncio.gather(write(), read())
