"""The ledger over each real database, and the loop that writes it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backend.storage.ledger.ledger import Ledger, open_ledger
from tests.support.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty_database()


@asynccontextmanager
async def opened(url: str, keep_s: float | None = None) -> AsyncIterator[Ledger]:
    async with open_ledger(url, Path("unused"), keep_s=keep_s) as ledger:
        yield ledger


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[Ledger]:
    async with opened(url) as ledger:
        yield ledger
