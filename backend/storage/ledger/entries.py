"""The entries of the ledger, and their table: one row for each message, tool call and Thinker's answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sqlalchemy import JSON, BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

from backend.citations import as_json
from backend.runtime.json_objects import Json
from backend.storage.messages import Message

Kind = Literal["message", "tool_call", "tool_output", "thinker_answer", "notice", "call"]

TEXT_CHARS = 100_000
"""The most characters of one text; a tool's result may be long."""
METADATA = MetaData()
ENTRIES = Table(
    "ledger_entries",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("entry_id", String(128), nullable=False),
    Column("user_id", String(128), nullable=False),
    Column("conversation_id", String(128), nullable=False),
    Column("session_id", String(128), nullable=False, server_default=""),
    Column("at", Float(53), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("role", String(16), nullable=False, server_default=""),
    Column("mode", String(8), nullable=False, server_default=""),
    Column("platform", String(32), nullable=False, server_default=""),
    Column("text", Text, nullable=False),
    Column("name", String(128), nullable=False, server_default=""),
    Column("call_id", String(128), nullable=False, server_default=""),
    Column("model", String(128), nullable=False, server_default=""),
    Column("tokens", Integer),
    Column("took_ms", Integer),
    Column("cost_usd", Float(53)),
    Column("details", JSON, nullable=False),
    UniqueConstraint("user_id", "conversation_id", "entry_id", name="ledger_entries_once"),
    Index("ledger_entries_of_user", "user_id", "at"),
    Index("ledger_entries_at", "at"),
)
"""The table. `at` is Unix time in seconds. `entry_id` is unique in its conversation: a repeated write has no effect."""

LENGTHS = {
    column.name: column.type.length or TEXT_CHARS for column in ENTRIES.columns if isinstance(column.type, String)
}
"""The most characters of each text column."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row."""

    entry_id: str
    user_id: str
    conversation_id: str
    at: float
    """Unix time in seconds."""
    kind: Kind
    text: str
    """What was said or heard, a tool's arguments or result, a Thinker's answer, or why a call ended."""
    role: str = ""
    """`user`, `assistant` or `tool`; empty for an entry that is no message."""
    mode: str = ""
    """`voice` or `chat`."""
    session_id: str = ""
    """The id of the call; empty for typed turns."""
    platform: str = ""
    """The platform of a typed turn, as the client names it."""
    name: str = ""
    """The name of the tool, the Thinker's domain, the kind of a notice, or a call's provider."""
    call_id: str = ""
    """The id of the tool call, the same for the call and its result."""
    model: str = ""
    """The models that produced it, in order."""
    tokens: int | None = None
    """The tokens in and out; None if they were not reported."""
    took_ms: int | None = None
    cost_usd: float | None = None
    """The cost of the models in US dollars; None if no price is known."""
    details: Json = field(default_factory=dict)
    """Details of some kinds: citations, a Thinker's query, the source of its answer, a call's usage by model."""

    def row(self) -> dict[str, Any]:
        """Return the values of the columns, cut to their lengths, without characters that a database refuses."""
        return {name: _fitting(name, value) for name, value in asdict(self).items()}


def _fitting(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value[: LENGTHS.get(name)].replace("\0", "").encode(errors="replace").decode()


def of_message(message: Message, user_id: str, conversation_id: str, **known: Any) -> Entry | None:
    """Return the entry of a message in memory; None for a message without words, such as a tool's."""
    if message.role == "tool" or not message.content.strip():
        return None
    return Entry(
        message.message_id,
        user_id,
        conversation_id,
        message.timestamp,
        "message",
        message.content,
        role=message.role,
        mode=message.source_mode,
        details={"citations": as_json(message.citations)} if message.citations else {},
        **known,
    )
