"""The Redis keys of memory, and the form of their values.

Everything that belongs to a user is stored under `user:{id}:` or listed in `user:{id}:owned` (a sorted set: key → the
second it expires), so that deleting a user needs no walk through the whole database.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from backend.runtime.faults import decode_all
from backend.storage.messages import Message

CHANGES = "users:changed"
"""The channel of changes to users' contexts. A message names the process that made the change, and the user."""
SHARED = "shared"
"""The cache scope of all users."""
OWNED_TTL_S = 90 * 86_400
"""Seconds the list of a user's keys is kept: longer than any of them."""

_message_decoder = msgspec.json.Decoder(Message)


def conversation(user_id: str, conversation_id: str) -> str:
    """Return the key of a conversation's messages, newest last. It contains the owner, so no other user finds it."""
    return f"user:{user_id}:conversation:{conversation_id}"


def conversation_of(user_id: str, key: str) -> str | None:
    """Return the id of the user's conversation stored at `key`; None for other keys."""
    start = conversation(user_id, "")
    return key[len(start) :] if key.startswith(start) else None


def holds_list(key: str) -> bool:
    """Return whether the value at `key` is a Redis list, as a conversation is."""
    return re.match(r"user:[^:]*:conversation:", key) is not None


def context(user_id: str) -> str:
    """Return the key of a user's context."""
    return f"user:{user_id}:context"


def owned(user_id: str) -> str:
    """Return the key of the sorted set of a user's other keys."""
    return f"user:{user_id}:owned"


def cached(scope: str, key: str) -> str:
    """Return the key of a cached value: `cache:{key}` when shared, otherwise a key of its user."""
    return f"cache:{key}" if scope == SHARED else f"user:{scope}:cache:{key}"


def decode_messages(raw: Sequence[bytes]) -> list[Message]:
    """Return the messages that can be decoded; the others are skipped and counted."""
    return decode_all("message", raw, _message_decoder.decode)


def readable(raw: bytes) -> Any:
    """Return a value for an export: decoded JSON, or the plain text."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return raw.decode(errors="replace")
