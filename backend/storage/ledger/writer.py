"""Writes the ledger beside the audio path: a bounded queue, and the one loop that empties it in batches.

A database that is slow or gone costs entries only once the queue is full, the oldest first, and never a call. A batch
is written again when the answer to it was lost; the table keeps each entry once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby

from sqlalchemy import Executable, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine

from backend.errors import LedgerUnavailable
from backend.runtime.supervisor import event_or_timeout
from backend.storage.ledger.database import migrate
from backend.storage.ledger.entries import ENTRIES, Entry

log = logging.getLogger(__name__)

Write = Entry | Executable | asyncio.Event
WAITING_LIMIT = 10_000
"""Writes that may wait; of more, the oldest are dropped."""
BATCH = 200
"""Writes of one transaction."""
GATHER_S = 0.25
"""Seconds in which entries are gathered for one transaction, unless a reader waits for them."""
ANSWER_WITHIN_S = 10.0
"""Seconds one transaction may take."""
REST_S = (0.25, 5.0)
"""Seconds between tries while the database does not answer: the first, doubled up to the second."""
SWEEP_EVERY_S = 3600.0
"""Seconds between two deletions of what is too old."""
SETTLE_S = 3.0
"""Seconds that a read or an erasure gives the writes that wait."""


class LedgerWriter:
    """Writes what is queued, in its order. `run` must be running for anything to be written."""

    def __init__(self, engine: AsyncEngine, *, keep_s: float | None = None, limit: int = WAITING_LIMIT) -> None:
        """Entries are kept for `keep_s` seconds; None: for good."""
        self._engine = engine
        insert = sqlite.insert if engine.url.get_backend_name() == "sqlite" else postgresql.insert
        self._insert = insert(ENTRIES).on_conflict_do_nothing()
        self._keep_s = keep_s
        self._limit = limit
        self._waiting: deque[Write] = deque()
        self._news = asyncio.Event()
        self._ready = asyncio.Event()
        self._hurry = asyncio.Event()
        self._sweep_at = 0.0
        self.dropped = 0
        """Writes given up: the queue was full, or the database refused them."""
        self.outage = ""
        """Why nothing can be written at the moment; empty while it can."""

    def __repr__(self) -> str:
        return f"LedgerWriter({self.depth} waiting, {self.dropped} dropped)"

    @property
    def depth(self) -> int:
        """Writes waiting."""
        return len(self._waiting)

    @property
    def is_ready(self) -> bool:
        """Return whether the tables are there."""
        return self._ready.is_set()

    def write(self, *entries: Entry) -> None:
        """Have entries written soon. Returns immediately."""
        for entry in entries:
            self.enqueue(entry)

    def enqueue(self, write: Write) -> None:
        """Have an entry written or a statement executed soon, or an event set once everything before it is done."""
        if len(self._waiting) >= self._limit:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(write)
        self._news.set()

    async def run(self) -> None:
        """Write what is queued, and delete what is too old, until cancelled."""
        rest_s = REST_S[0]
        while True:
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await self._prepare()
                await self._write_all()
                await self._sweep()
            except (SQLAlchemyError, OSError, TimeoutError) as error:
                self._begin_outage(error)
                await asyncio.sleep(rest_s)
                rest_s = min(2 * rest_s, REST_S[1])
            else:
                self._end_outage()
                rest_s = REST_S[0]
                await event_or_timeout(self._news, SWEEP_EVERY_S)
                await event_or_timeout(self._hurry, GATHER_S)

    async def settle(self, within_s: float = SETTLE_S) -> None:
        """Wait until everything queued so far is written. Raises `LedgerUnavailable` after `within_s` seconds."""
        if not self._waiting and self._ready.is_set():
            return
        written = asyncio.Event()
        self.enqueue(written)
        self._hurry.set()
        await event_or_timeout(written, within_s)
        if not written.is_set():
            raise LedgerUnavailable("The ledger has not taken the entries that wait for it.")

    async def close(self, within_s: float) -> None:
        """Give waiting writes `within_s` seconds, and close the connections; `run` must still be running."""
        with suppress(LedgerUnavailable):
            await self.settle(within_s)
        if self._waiting:
            log.warning("the ledger ends with %d writes undone: %s", self.depth, self.outage or "there was no time")

    async def _prepare(self) -> None:
        if not self._ready.is_set():
            await migrate(self._engine)
            self._ready.set()

    async def _write_all(self) -> None:
        self._news.clear()
        self._hurry.clear()
        while self._waiting:
            batch = [self._waiting[index] for index in range(min(BATCH, len(self._waiting)))]
            try:
                await self._execute(batch)
            except (SQLAlchemyError, ValueError, TypeError, ArithmeticError) as error:
                if _is_outage(error):
                    raise
                await self._execute_singly(batch)
            for done in batch:
                if self._waiting and self._waiting[0] is done:  # else it was dropped meanwhile
                    self._waiting.popleft()
                if isinstance(done, asyncio.Event):
                    done.set()

    async def _execute(self, batch: Sequence[Write]) -> None:
        async with asyncio.timeout(ANSWER_WITHIN_S), self._engine.begin() as connection:
            for kind, writes in groupby(batch, type):
                if kind is Entry:  # by one statement: one for each would hold the event loop twenty times as long
                    rows = [write.row() for write in writes if isinstance(write, Entry)]
                    await connection.execute(self._insert, rows)
                    continue
                for write in writes:
                    if isinstance(write, Executable):
                        await connection.execute(write)

    async def _execute_singly(self, batch: Sequence[Write]) -> None:
        """Write each entry by itself, so that one that the database refuses does not stop the others."""
        for write in batch:
            try:
                await self._execute([write])
            except (SQLAlchemyError, ValueError, TypeError, ArithmeticError) as error:
                if _is_outage(error):
                    raise
                self.dropped += 1
                log.error(
                    "the ledger's database refuses a write: %s", type(getattr(error, "orig", None) or error).__name__
                )  # without its values

    async def _sweep(self) -> None:
        if self._keep_s is not None and time.monotonic() >= self._sweep_at:
            await self._execute([delete(ENTRIES).where(ENTRIES.c.at < time.time() - self._keep_s)])
            self._sweep_at = time.monotonic() + SWEEP_EVERY_S

    def _begin_outage(self, error: Exception) -> None:
        if not self.outage:
            self.outage = type(getattr(error, "orig", None) or error).__name__
            log.warning("the ledger's database is out of reach (%s); calls go on, and entries wait", self.outage)

    def _end_outage(self) -> None:
        if self.outage:
            log.warning("the ledger's database answers again; %d writes were given up so far", self.dropped)
            self.outage = ""


def _is_outage(error: Exception) -> bool:
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return is_lost or isinstance(error, OperationalError | InterfaceError | PoolTimeout)
