"""What is kept of users, and what carries it: Redis, and all that stands in it which more than one side uses."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from backend.notifications.notices import NoticeStore
from backend.notifications.presence import Presence
from backend.settings.settings import Settings
from backend.storage.embedded import OpenedMemory
from backend.storage.memory import Memory
from backend.storage.outbox import Outbox
from backend.storage.pubsub import Relay
from backend.storage.turn_claims import RedisTurns
from backend.users.memories import RedisMemories
from backend.users.notes import RedisNotes

DAY_S = 86_400
DRAIN_WITHIN_S = 2.0
"""Seconds a process that ends gives what waits to be written."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What every side of the house may use."""

    opened: OpenedMemory
    """The Redis itself, and what to tell the operator about it."""
    memory: Memory
    outbox: Outbox
    """The way of calls and typed turns to memory."""
    memories: RedisMemories
    notes: RedisNotes
    notices: NoticeStore
    presence: Presence
    """Who has a page open."""
    turns: RedisTurns
    """Which typed turns run where."""
    relay: Relay
    """To the other processes; whoever has hearers for it lets it begin."""


@asynccontextmanager
async def open_kept(opened: OpenedMemory, settings: Settings) -> AsyncIterator[Kept]:
    """Takes over `opened`, and closes it once what waits has been written."""
    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.memory.close)
        outbox = Outbox(opened.memory)
        stack.push_async_callback(outbox.drain, DRAIN_WITHIN_S)
        memories = RedisMemories(opened.redis, ttl_s=kept_for_s(settings))
        notes = RedisNotes(opened.redis, ttl_s=kept_for_s(settings))
        relay = Relay(opened.redis, opened.waiting)
        notices, presence = NoticeStore(opened.redis), Presence(opened.redis)
        turns = RedisTurns(opened.redis, secrets.token_hex(8))
        turns.listen(relay)
        yield Kept(opened, opened.memory, outbox, memories, notes, notices, presence, turns, relay)


def kept_for_s(settings: Settings) -> int | None:
    """Seconds what is known of a user is kept after its last change; None: for good."""
    return settings.user_retention_days * DAY_S or None
