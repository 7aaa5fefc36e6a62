"""Opens a process's ledger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backend.runtime.supervisor import supervising
from backend.storage.ledger.database import address, open_engine
from backend.storage.ledger.ledger import Ledger
from backend.storage.ledger.writer import LedgerWriter

DRAIN_WITHIN_S = 2.0
"""Seconds a process that ends gives the entries that wait."""


@asynccontextmanager
async def open_ledger(
    url: str, data_dir: Path, *, keep_s: float | None = None, writes: bool = True
) -> AsyncIterator[Ledger]:
    """Open the ledger at `url`, or in a file in `data_dir`, and write it until the block ends.

    Nothing is awaited of the database: it may come later. A process that does not serve `writes` nothing, and never
    connects. Raises `SettingsError` for an address that is none.
    """
    engine = open_engine(address(url, data_dir))
    writer = LedgerWriter(engine, keep_s=keep_s)
    try:
        if not writes:
            yield Ledger(engine, writer)
            return
        async with supervising("ledger", writer.run):
            yield Ledger(engine, writer)
            await writer.close(DRAIN_WITHIN_S)
    finally:
        await engine.dispose()
