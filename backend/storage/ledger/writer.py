"""The writer writes the ledger in batches, off the audio path.

A slow or absent database never affects a call; once the queue is full, the oldest entries are lost. A batch is written
again when the answer to it was lost; the table keeps each entry once.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from itertools import groupby

from sqlalchemy import Executable, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine

from backend.errors import LedgerUnavailable
from backend.storage.ledger.database import migrate
from backend.storage.ledger.entries import ENTRIES, Entry
from backend.storage.write_queue import WriteQueue

log = logging.getLogger(__name__)

Write = Entry | Executable
WAITING_LIMIT = 10_000
"""The most writes that wait; beyond that, the oldest are dropped."""
BATCH = 200
"""The most writes of one transaction."""
ANSWER_WITHIN_S = 10.0
"""Seconds one transaction may take."""
SWEEP_EVERY_S = 3600.0
"""The fewest seconds between two deletions of old entries."""
FAULTS = (SQLAlchemyError, OSError, TimeoutError, ValueError, TypeError, ArithmeticError)


class LedgerWriter(WriteQueue[Write]):
    """The writes of this process to the ledger."""

    def __init__(self, engine: AsyncEngine, *, keep_s: float | None = None, limit: int = WAITING_LIMIT) -> None:
        """Entries are kept for `keep_s` seconds; None: without limit."""
        super().__init__("ledger", LedgerUnavailable, self._write, limit=limit, batch=BATCH)
        self._engine = engine
        insert = sqlite.insert if engine.url.get_backend_name() == "sqlite" else postgresql.insert
        self._insert = insert(ENTRIES).on_conflict_do_nothing()
        self._keep_s = keep_s
        self._sweep_at = 0.0
        self.is_ready = False
        """Whether the tables exist."""

    def write(self, *entries: Entry) -> None:
        """Queue entries to be written. Returns immediately."""
        for entry in entries:
            self.enqueue(entry)

    def _may_drop(self, write: Write | asyncio.Event) -> bool:
        return not isinstance(write, Executable)  # A deletion is what a user has asked for.

    async def sweep(self) -> None:
        """Delete old entries at intervals even if nothing is written, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            self.enqueue(asyncio.Event())

    async def _write(self, writes: Sequence[Write]) -> int:
        """Write a batch, and delete old entries. Raises `LedgerUnavailable`."""
        try:
            if not self.is_ready:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await migrate(self._engine)
                self.is_ready = True
            if self._keep_s is not None and time.monotonic() >= self._sweep_at:
                await self._execute([delete(ENTRIES).where(ENTRIES.c.at < time.time() - self._keep_s)])
                self._sweep_at = time.monotonic() + SWEEP_EVERY_S
        except FAULTS as error:
            raise LedgerUnavailable(_named(error)) from error
        return await self._try(writes)

    async def _try(self, writes: Sequence[Write]) -> int:
        """Write a batch. If it is refused, write each entry by itself, so that a bad one does not stop the others."""
        try:
            await self._execute(writes)
        except FAULTS as error:
            if _is_outage(error):
                raise LedgerUnavailable(_named(error)) from error
            if len(writes) > 1:
                return sum([await self._try([write]) for write in writes])
            log.error("the ledger's database refuses a write: %s", _named(error))  # without its values
            return 1
        return 0

    async def _execute(self, writes: Sequence[Write]) -> None:
        async with asyncio.timeout(ANSWER_WITHIN_S), self._engine.begin() as connection:
            for kind, same in groupby(writes, type):
                if kind is Entry:  # In one statement: one for each row would hold the event loop twenty times as long.
                    rows = [write.row() for write in same if isinstance(write, Entry)]
                    await connection.execute(self._insert, rows)
                    continue
                for write in same:
                    if isinstance(write, Executable):
                        await connection.execute(write)


def _named(error: Exception) -> str:
    return type(getattr(error, "orig", None) or error).__name__


def _is_outage(error: Exception) -> bool:
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return is_lost or isinstance(error, OperationalError | InterfaceError | PoolTimeout | OSError | TimeoutError)
