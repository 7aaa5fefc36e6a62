"""Events in files: a folder for each user, one `.ics` file for each event, readable by any calendar program.

A writer holds a lock, one for all users, for the milliseconds it takes to compare and to rename a file into place; so
a reader always finds a whole file, and of two writers the second learns that the event has changed.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

from backend.extensions.calendar.base import (
    CalendarRefused,
    CalendarUnavailable,
    EventChanged,
    NoSuchEvent,
    Stored,
    calendar_name,
)
from backend.extensions.calendar.events import may_touch

EVENT_LIMIT = 1_000
"""Events a user may have."""
TEXT_LIMIT = 100_000
"""Bytes an event may have."""
LOCK_WITHIN_S = 2.0
"""Seconds to wait for another writer."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass
class LocalStore:
    """An `EventStore` in `folder`, which is created when first needed. Only the owner may read the files (0600)."""

    folder: Path

    label = "kept on this server"

    async def between(self, user_id: str, start: datetime, end: datetime) -> list[Stored]:
        return [stored for stored in await self.everything(user_id) if may_touch(stored.text, start, end)]

    async def everything(self, user_id: str) -> list[Stored]:
        return await self._work(self._all, calendar_name(user_id))

    async def get(self, user_id: str, event_id: str) -> Stored:
        return await self._work(self._read, self._path(user_id, event_id))

    async def create(self, user_id: str, event_id: str, text: str) -> None:
        await self._work(self._create, self._path(user_id, event_id), text)

    async def replace(self, user_id: str, known: Stored, text: str) -> None:
        await self._work(self._replace, self._path(user_id, known.id), known.etag, text)

    async def remove(self, user_id: str, known: Stored) -> None:
        await self._work(self._replace, self._path(user_id, known.id), known.etag, None)

    async def erase(self, user_id: str) -> None:
        await self._work(self._erase, calendar_name(user_id))

    async def _work(self, function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run `function` beside the event loop; an `OSError` becomes `CalendarUnavailable`."""
        try:
            return await asyncio.to_thread(function, *arguments, **options)
        except OSError as error:
            raise CalendarUnavailable("The calendar's files cannot be used.") from error

    def _path(self, user_id: str, event_id: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}\.ics", event_id):
            raise NoSuchEvent("There is no such event.")
        return self.folder / calendar_name(user_id) / event_id

    # --- in a thread ----------------------------------------------------------------------------------

    def _all(self, name: str) -> list[Stored]:
        found = []
        for path in sorted((self.folder / name).glob("*.ics"))[:EVENT_LIMIT]:
            with suppress(NoSuchEvent):  # deleted since we looked
                found.append(self._read(path))
        return found

    def _read(self, path: Path) -> Stored:
        try:
            with path.open("rb") as file:
                content = file.read(TEXT_LIMIT + 1)
        except FileNotFoundError:
            raise NoSuchEvent("There is no such event.") from None
        return Stored(path.name, content.decode("utf-8", "replace"), hashlib.sha256(content).hexdigest())

    def _create(self, path: Path, text: str) -> None:
        with self._locked():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            if path.exists():
                raise EventChanged("There is an event of that id already.")
            if sum(1 for _ in path.parent.glob("*.ics")) >= EVENT_LIMIT:
                raise CalendarRefused(f"The calendar is full: it holds {EVENT_LIMIT:,} events.")
            _write(path, text)

    def _replace(self, path: Path, etag: str, text: str | None) -> None:
        with self._locked():
            if self._read(path).etag != etag:
                raise EventChanged("The event was changed by somebody else meanwhile.")
            if text is None:
                path.unlink()
            else:
                _write(path, text)

    def _erase(self, name: str) -> None:
        if (self.folder / name).exists():
            with self._locked():
                shutil.rmtree(self.folder / name)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock among all processes that share the folder. Raises `CalendarUnavailable` after a while."""
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            until = time.monotonic() + LOCK_WITHIN_S
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise CalendarUnavailable("The calendar is busy.") from None
                    time.sleep(0.01)
            yield
        finally:
            os.close(descriptor)  # and with it the lock


def _write(path: Path, text: str) -> None:
    """Write all of the file or nothing, also when the power fails."""
    content = text.encode()
    if len(content) > TEXT_LIMIT:
        raise CalendarRefused("The event is too long to be stored.")
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
