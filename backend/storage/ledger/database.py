"""The ledger's database is SQLite in WAL mode in a file of this server, or an operator's PostgreSQL."""

import asyncio
import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from backend.errors import SettingsError
from backend.runtime.extras import require

log = logging.getLogger(__name__)

CONNECT_S = 3
"""Seconds a connection may take."""
BUSY_MS = 5_000
"""Milliseconds SQLite waits for another process that writes."""
CONNECTIONS = 4
"""The most connections of one process; the writer holds one."""
MIGRATION_LOCK = 0x1ED6E4
"""The advisory lock in PostgreSQL that one process holds while it changes tables."""
MIGRATIONS = Path(__file__).parent / "migrations"
_DRIVERS = {"postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg", "sqlite": "sqlite+aiosqlite"}


def address(url: str, data_dir: Path) -> URL:
    """Return the ledger's address with its driver; empty `url`: `ledger.db` in `data_dir`. Raises `SetupError`."""
    try:
        parsed = make_url(url or f"sqlite:///{data_dir.absolute() / 'ledger.db'}")
        driver = _DRIVERS[parsed.drivername.partition("+")[0]]
    except (ArgumentError, KeyError):
        raise SettingsError(
            "DATABASE_URL is neither a SQLite nor a PostgreSQL address.",
            hint="Write postgresql://user:password@host:5432/database or sqlite:////folder/ledger.db, or leave it out.",
        ) from None
    if parsed.get_backend_name() != "sqlite":
        require("asyncpg", extra="postgres", needed_by="DATABASE_URL")
    return parsed.set(drivername=driver)


def open_engine(url: URL) -> AsyncEngine:
    """Return an engine that connects when it is first used."""
    if url.get_backend_name() == "sqlite":
        engine = create_async_engine(url, connect_args={"timeout": BUSY_MS / 1000})
        event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        return engine
    connecting: dict[str, Any] = {"timeout": CONNECT_S, "command_timeout": 10}
    return create_async_engine(
        url,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=CONNECT_S,
        pool_pre_ping=True,
        connect_args=connecting,
    )


async def migrate(engine: AsyncEngine) -> None:
    """Bring the tables up to date. If several processes start together, one does it and the others wait."""
    if engine.url.get_backend_name() == "sqlite":
        await asyncio.to_thread(_migrate_sqlite, engine.url)
        return
    async with engine.begin() as connection:
        await connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        await connection.run_sync(upgrade)


def upgrade(connection: Connection) -> None:
    """Run the migrations that this database lacks. A database of a newer version stays as it is."""
    from alembic import command  # imported only here, after the start: it takes 0.1 s
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision and revision not in {each.revision for each in ScriptDirectory.from_config(config).walk_revisions()}:
        log.warning("the ledger's tables are a newer version's (%s) and are used as they are", revision)
        return
    command.upgrade(config, "head")


def _migrate_sqlite(url: URL) -> None:
    path = Path(url.database or "ledger.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url.set(drivername="sqlite"))
    event.listen(engine, "connect", _prepare_sqlite)
    try:
        with _locked(path.with_suffix(".lock")), engine.begin() as connection:
            upgrade(connection)
        path.chmod(0o600)
    finally:
        engine.dispose()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    """Let readers read while another process writes, and let writers wait for each other."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={BUSY_MS}", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
