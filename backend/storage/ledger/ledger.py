"""The ledger keeps every message, tool call, Thinker's answer and notice for the configured time.

Redis keeps live conversations; the ledger keeps past ones. Writing never waits (`writer`). All data is read, exported
and erased by its owner's id alone.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import ColumnElement, Executable, Select, delete, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from backend.citations import Citation
from backend.errors import LedgerUnavailable
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import supervising
from backend.storage.ledger.database import address, open_engine
from backend.storage.ledger.entries import ENTRIES, Entry
from backend.storage.ledger.writer import ANSWER_WITHIN_S, LedgerWriter
from backend.storage.messages import Message

EXPORT_LIMIT = 100_000
"""The most entries in an export: the newest."""
TITLE_CHARS = 80
DRAIN_WITHIN_S = 2.0
"""Seconds an ending process spends on writing the waiting entries."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A conversation in its owner's list."""

    id: str
    title: str
    """The beginning of the first thing its user said."""
    messages: int
    began_at: float
    updated_at: float
    """Unix times in seconds."""
    platform: str


class Ledger:
    """The ledger of all users, as one process sees it."""

    def __init__(self, engine: AsyncEngine, writer: LedgerWriter) -> None:
        self._engine = engine
        self.writer = writer

    def write(self, *entries: Entry) -> None:
        """Queue entries to be written. Returns immediately."""
        self.writer.write(*entries)

    def forget_soon(self, user_id: str, conversation_id: str) -> None:
        """Queue the deletion of a conversation, after all earlier writes."""
        self.writer.enqueue(delete(ENTRIES).where(_of_conversation(user_id, conversation_id)))

    # --- reading --------------------------------------------------------------------------------------

    async def conversations(
        self, user_id: str, *, containing: str = "", before: float | None = None, limit: int = 50
    ) -> list[PastConversation]:
        """Return a user's conversations before a time that contain a text, the latest first."""
        of_user = (ENTRIES.c.user_id == user_id) & (ENTRIES.c.kind == "message")
        last = func.max(ENTRIES.c.at)
        chosen = (
            select(
                ENTRIES.c.conversation_id,
                func.count().label("messages"),
                func.min(ENTRIES.c.at).label("began_at"),
                last.label("updated_at"),
                func.max(ENTRIES.c.platform).label("platform"),
            )
            .where(of_user)
            .group_by(ENTRIES.c.conversation_id)
            .order_by(last.desc())
            .limit(limit)
        )
        if containing := containing.replace("\0", ""):
            found = select(ENTRIES.c.conversation_id).where(
                of_user, ENTRIES.c.text.icontains(containing, autoescape=True)
            )
            chosen = chosen.where(ENTRIES.c.conversation_id.in_(found))
        if before is not None:
            chosen = chosen.having(last < before)

        async def read(connection: AsyncConnection) -> list[PastConversation]:
            rows = (await connection.execute(chosen)).all()
            titles = await self._titles(connection, user_id, [row.conversation_id for row in rows])
            return [
                PastConversation(
                    row.conversation_id,
                    titles.get(row.conversation_id, ""),
                    row.messages,
                    row.began_at,
                    row.updated_at,
                    row.platform,
                )
                for row in rows
            ]

        return await self._read(read)

    async def messages(
        self, user_id: str, conversation_id: str, limit: int, *, until: float | None = None
    ) -> list[Message]:
        """Return the user's newest messages with words, oldest first. Messages that wait to be written are left out,
        since memory has them; with `until`, a Unix time, they are included up to it.
        """
        chosen = select(ENTRIES).where(_of_conversation(user_id, conversation_id), ENTRIES.c.kind == "message")
        if until is not None:
            chosen = chosen.where(ENTRIES.c.at <= until)
        newest = chosen.order_by(ENTRIES.c.at.desc(), ENTRIES.c.seq.desc()).limit(limit)
        found = await self._rows(newest, settled=until is not None)
        return [_message(row) for row in reversed(found)]

    async def entries(self, user_id: str, conversation_id: str) -> list[Json]:
        """Return all entries of the user's own conversation, oldest first."""
        return _shown(await self._rows(_newest(_of_conversation(user_id, conversation_id))))

    # --- the owner's rights ---------------------------------------------------------------------------

    async def export(self, user_id: str, /) -> list[Json]:
        """Return every entry of a user, oldest first. Raises `LedgerUnavailable`."""
        return _shown(await self._rows(_newest(ENTRIES.c.user_id == user_id)))

    async def erase(self, user_id: str, /) -> None:
        """Delete every entry of a user, including those that still wait. Raises `LedgerUnavailable`."""
        await self._change(delete(ENTRIES).where(ENTRIES.c.user_id == user_id))

    async def forget(self, user_id: str, conversation_id: str) -> None:
        """Delete a conversation. Raises `LedgerUnavailable`."""
        await self._change(delete(ENTRIES).where(_of_conversation(user_id, conversation_id)))

    async def _change(self, *changes: Executable) -> None:
        async def execute(connection: AsyncConnection) -> None:
            for change in changes:
                await connection.execute(change)

        await self._read(execute)

    async def _titles(self, connection: AsyncConnection, user_id: str, conversations: Sequence[str]) -> dict[str, str]:
        """Return the beginning of the first words of the user in each conversation."""
        own = (
            (ENTRIES.c.user_id == user_id)
            & ENTRIES.c.conversation_id.in_(conversations)
            & (ENTRIES.c.kind == "message")
            & (ENTRIES.c.role == "user")
        )
        first = select(func.min(ENTRIES.c.seq)).where(own).group_by(ENTRIES.c.conversation_id)
        text = func.substr(ENTRIES.c.text, 1, TITLE_CHARS)
        rows = await connection.execute(select(ENTRIES.c.conversation_id, text).where(ENTRIES.c.seq.in_(first)))
        return {row[0]: row[1] for row in rows}

    async def _rows(self, chosen: Select[Any], *, settled: bool = True) -> Sequence[Any]:
        async def read(connection: AsyncConnection) -> Sequence[Any]:
            return list((await connection.execute(chosen)).all())

        return await self._read(read, settled=settled)

    async def _read(self, work: Callable[[AsyncConnection], Awaitable[T]], *, settled: bool = True) -> T:
        """Return the result of `work` on a connection; `settled`: after queued writes. Raises `LedgerUnavailable`."""
        if self.writer.outage:
            raise LedgerUnavailable("The ledger's database does not answer.")
        if settled or not self.writer.is_ready:
            await self.writer.settle()
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S), self._engine.begin() as connection:
                return await work(connection)
        except (SQLAlchemyError, OSError, TimeoutError) as error:
            raise LedgerUnavailable("The ledger's database does not answer.") from error


def _of_conversation(user_id: str, conversation_id: str) -> ColumnElement[bool]:
    named = conversation_id.replace("\0", "")  # PostgreSQL accepts no NUL anywhere.
    return (ENTRIES.c.user_id == user_id) & (ENTRIES.c.conversation_id == named)


def _newest(where: Any) -> Select[Any]:
    return select(ENTRIES).where(where).order_by(ENTRIES.c.at.desc(), ENTRIES.c.seq.desc()).limit(EXPORT_LIMIT)


def _shown(rows: Sequence[Any]) -> list[Json]:
    """Return rows (newest first) as JSON objects (oldest first) without empty fields."""
    hidden = ("seq", "user_id")
    return [
        {name: value for name, value in row._mapping.items() if name not in hidden and value not in ("", None, {})}
        for row in reversed(rows)
    ]


def _message(row: Any) -> Message:
    role: Literal["user", "assistant"] = "user" if row.role == "user" else "assistant"
    mode: Literal["voice", "chat"] = "voice" if row.mode == "voice" else "chat"
    cited = tuple(Citation(**each) for each in row.details.get("citations", ()))
    return Message(role, row.text, row.at, mode, message_id=row.entry_id, citations=cited)


@asynccontextmanager
async def open_ledger(
    url: str, data_dir: Path, *, keep_s: float | None = None, writes: bool = True
) -> AsyncIterator[Ledger]:
    """Open the ledger at `url`, or in a file in `data_dir`, and write it until the block ends.

    Opening does not wait for the database, which may start later. A process that does not serve `writes` nothing, and
    never connects. Raises `SettingsError` for an invalid address.
    """
    engine = open_engine(address(url, data_dir))
    writer = LedgerWriter(engine, keep_s=keep_s)
    try:
        if not writes:
            yield Ledger(engine, writer)
            return
        writer.enqueue(asyncio.Event())  # creates the tables
        async with supervising("ledger retention", writer.sweep):
            yield Ledger(engine, writer)
        await writer.drain(DRAIN_WITHIN_S)
    finally:
        await engine.dispose()
