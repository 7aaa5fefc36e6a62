"""The names under which memory keeps things, and how a value is written there.

Whatever belongs to a user lies under `user:{id}:` or is listed in `user:{id}:owned` (a sorted set: key → the
second it expires), so that forgetting a user needs no walk through the whole database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from backend.errors import MemoryUnavailable
from backend.storage.memory import Message

CHANGES = "users:changed"
"""The channel on which every change of a user's context is told: the process that made it, and the user."""
SHARED = "shared"
"""The cache scope that is nobody's in particular."""
FINGERPRINT_TTL_S = 90 * 86_400
"""How long a browser's fingerprint is a hint; after that the browser has changed anyway."""

SESSION_OWNED_S = 2 * 86_400
"""How long a session is listed as its user's, from its beginning and again from its end: longer than it is kept."""

_message_decoder = msgspec.json.Decoder(Message)
_object_decoder = msgspec.json.Decoder(dict[str, Any])


def conversation(user_id: str, conversation_id: str) -> str:
    """The list of a conversation's messages, newest last: among its owner's keys, so that nobody else finds it."""
    return f"user:{user_id}:conversation:{conversation_id}"


def conversation_of(user_id: str, key: str) -> str | None:
    """The id of the conversation under `key`, if one of that user's is."""
    start = conversation(user_id, "")
    return key[len(start) :] if key.startswith(start) else None


def holds_list(key: str) -> bool:
    """Whether a list is kept there: a conversation is one."""
    return re.match(r"user:[^:]*:conversation:", key) is not None


def summary(session_id: str) -> str:
    """The record of an ended session."""
    return f"session:{session_id}:summary"


def of_session(session_id: str) -> list[str]:
    """Every key a session can have; a new one is added here, so that it is forgotten with the rest."""
    return [summary(session_id)]


def context(user_id: str) -> str:
    """What is known of a user."""
    return f"user:{user_id}:context"


def owned(user_id: str) -> str:
    """The sorted set of a user's other keys."""
    return f"user:{user_id}:owned"


def cached(scope: str, key: str) -> str:
    """A cached value: `cache:{key}` when shared, else among its user's keys."""
    return f"cache:{key}" if scope == SHARED else f"user:{scope}:cache:{key}"


def fingerprint(value: str) -> str:
    """The user id a browser was last seen as."""
    return f"fingerprint:{value}"


def encode(value: Message | dict[str, Any]) -> bytes:
    """A value as compact JSON."""
    return msgspec.json.encode(value)


def decode_message(raw: bytes) -> Message:
    """A message. Raises `MemoryUnavailable` when somebody else wrote there what is none."""
    try:
        return _message_decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _unreadable() from error


def decode_object(raw: bytes) -> dict[str, Any]:
    """A JSON object. Raises `MemoryUnavailable` when it is something else."""
    try:
        return _object_decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _unreadable() from error


def readable(raw: bytes) -> Any:
    """A value for people to read: JSON decoded, else the text as it is."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw.decode(errors="replace")


def _unreadable() -> MemoryUnavailable:
    return MemoryUnavailable(
        "Memory holds a value this server cannot read.",
        hint="Does another program write to the same Redis database? Give the server its own (redis://host:6379/1).",
    )


def amended(messages: Sequence[Message], message_ids: Sequence[str], content: str) -> list[Message]:
    """`messages` with the last of `message_ids` saying `content`, and the others left out."""
    *others, last = message_ids
    return [
        replace(message, content=content) if message.message_id == last else message
        for message in messages
        if message.message_id not in others
    ]
