"""Where every session of the fleet is, and which processes there are: read from Redis, written there by the `clerk`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable

READ_WITHIN_S = 1.0
"""Seconds Redis may take to answer."""
NODES = "fleet:nodes"
"""The set of processes that told of themselves; those gone are dropped from it by whoever notices."""


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A session as the fleet knows it. `description` is what `GET /api/sessions/{id}` shows, some seconds old."""

    session_id: str
    node: str
    owner: str
    description: dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeState:
    """A process of the fleet, at most a heartbeat ago. `load` is 0 when idle, 1 when full."""

    node: str
    group: str
    """Shared by the processes behind one port of one machine."""
    live: int
    load: float
    accepts: bool


class ClusterRegistry:
    """Read-only; every method may raise `MemoryUnavailable`."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def __repr__(self) -> str:
        return "ClusterRegistry()"

    async def card(self, session_id: str) -> SessionEntry | None:
        """Where that session is, or was in the last ten minutes."""
        raw = await _bounded(self._redis.get(card_of(session_id)))
        return None if raw is None else msgspec.json.decode(raw, type=SessionEntry)

    async def cards_of(self, owner: str) -> list[SessionEntry]:
        """The owner's sessions, in no order."""
        ids = await _bounded(self._redis.zrange(calls_of(owner), 0, -1))
        if not ids:
            return []
        found = await _bounded(self._redis.mget([card_of(raw.decode()) for raw in ids]))
        return [msgspec.json.decode(raw, type=SessionEntry) for raw in found if raw is not None]

    async def lives(self, node: str) -> bool:
        """Whether that process told of itself lately."""
        return bool(await _bounded(self._redis.exists(node_of(node))))

    async def nodes(self) -> list[NodeState]:
        """The processes that live, least loaded first."""
        names = [raw.decode() for raw in await _bounded(self._redis.smembers(NODES))]
        if not names:
            return []
        found = await _bounded(self._redis.mget([node_of(name) for name in names]))
        if gone := [name for name, raw in zip(names, found, strict=True) if raw is None]:
            await _bounded(self._redis.srem(NODES, *gone))
        states = [msgspec.json.decode(raw, type=NodeState) for raw in found if raw is not None]
        return sorted(states, key=lambda state: (state.load, state.live))

    async def events(self, session_id: str) -> list[tuple[int, bytes]]:
        """What the session told the page, as far as it is kept: numbers and contents."""
        entries = await _bounded(self._redis.xrange(events_of(session_id)))
        return [(int(raw_id.split(b"-")[0]), fields[b"v"]) for raw_id, fields in entries]

    async def last_event(self, session_id: str) -> int:
        """The number of its last event; 0 when there is none."""
        entries = await _bounded(self._redis.xrevrange(events_of(session_id), count=1))
        return int(entries[0][0].split(b"-")[0]) if entries else 0

    async def forget(self, session_id: str, owner: str) -> None:
        """Delete what is kept of a session here."""
        await _bounded(self._redis.delete(card_of(session_id), events_of(session_id)))
        await _bounded(self._redis.zrem(calls_of(owner), session_id))


def card_of(session_id: str) -> str:
    """The key of a session's card."""
    return f"session:{session_id}:card"


def events_of(session_id: str) -> str:
    """The stream of a session's page events."""
    return f"session:{session_id}:events"


def calls_of(owner: str) -> str:
    """The sorted set of a user's sessions: id → the second it may be forgotten."""
    return f"user:{owner}:calls"


def node_of(node: str) -> str:
    """The key a process renews while it lives."""
    return f"fleet:{node}"


async def _bounded(work: Any) -> Any:
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            return await cast(Awaitable[Any], work)
    except (RedisError, OSError, TimeoutError) as error:
        raise MemoryUnavailable(
            "Redis does not answer, so calls of other processes cannot be found.", hint="Try again in a moment."
        ) from error
