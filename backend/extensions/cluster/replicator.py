"""The session replicator publishes the sessions of this process to the others.

Calls never wait for it: it notes changes, and one task writes all noted changes to Redis in one round trip.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable
from backend.extensions.cluster.cluster_registry import (
    NODES,
    NodeState,
    SessionEntry,
    calls_key,
    entry_key,
    node_key,
)
from backend.runtime.supervisor import event_or_timeout
from backend.sessions.registry import KEEP_ENDED_S, Watcher
from backend.sessions.session import Session, SessionState
from backend.storage.client import RedisClient

log = logging.getLogger(__name__)

HEARTBEAT_S = 4.0
"""Seconds between two heartbeats."""
EXPIRES_S = 12
"""Seconds without a heartbeat after which a process counts as gone."""
LIVE_TTL_S = 3_600
"""Seconds for which a live session's entry outlasts its last renewal, so that others can tell that its process died."""
PAUSE_S = 0.1
"""The fewest seconds between two round trips."""
RETRY_S = 1.0
"""Seconds between attempts while Redis does not answer."""


class SessionReplicator(Watcher):
    """The replicator of one process: it watches the sessions there."""

    def __init__(self, redis: Redis, node: str, state: Callable[[], NodeState]) -> None:
        self._client = RedisClient(redis)
        self._node = node
        self._state = state
        self._sessions: dict[str, Session] = {}
        """The sessions of this process, live or lately ended."""
        self._changed: set[str] = set()
        self._pending = asyncio.Event()
        self._writing = asyncio.Lock()
        self._heartbeat_at = -HEARTBEAT_S

    def on_change(self, session: Session) -> None:
        self._sessions[session.id] = session
        self._changed.add(session.id)
        self._pending.set()

    def on_removal(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        self._changed.discard(session.id)

    async def run(self) -> None:
        """Write changes and heartbeats until cancelled."""
        while True:
            await event_or_timeout(self._pending, max(0.0, self._heartbeat_at + HEARTBEAT_S - time.monotonic()))
            try:
                await self.flush()
                await asyncio.sleep(PAUSE_S)
            except MemoryUnavailable as error:
                log.debug("other processes do not learn of our calls: %s", error)
                await asyncio.sleep(RETRY_S)

    async def flush(self) -> None:
        """Write the waiting changes. Raises `MemoryUnavailable`; the changes are kept for the next attempt."""
        async with self._writing:
            self._pending.clear()
            heartbeat = time.monotonic() >= self._heartbeat_at + HEARTBEAT_S
            changed, self._changed = self._changed, set()  # Later changes are written the next time.
            ids = set(self._sessions) if heartbeat else changed
            pipe = self._client.pipeline(transaction=False)  # the writes are independent
            for session_id in ids & set(self._sessions):
                self._write_entry(pipe, self._sessions[session_id])
            if heartbeat:
                pipe.set(node_key(self._node), msgspec.json.encode(self._state()), ex=EXPIRES_S)
                pipe.sadd(NODES, self._node)
            try:
                await self._client.execute(pipe)
            except BaseException:  # a cancellation, too: announcing a session has a time limit
                self._changed |= changed
                self._pending.set()
                raise
            if heartbeat:
                self._heartbeat_at = time.monotonic()

    async def leave(self) -> None:
        """Write the waiting changes, and remove this process from the registry; a failure is only logged."""
        try:
            await self.flush()
            pipe = self._client.pipeline(transaction=False)
            pipe.delete(node_key(self._node))
            pipe.srem(NODES, self._node)
            await self._client.execute(pipe)
        except MemoryUnavailable:
            log.warning("the other processes were not informed that this one ends; they will miss its heartbeat")

    def _write_entry(self, pipe: Any, session: Session) -> None:
        entry = SessionEntry(session.id, self._node, session.owner, session.describe())
        ttl_s = KEEP_ENDED_S if session.state is SessionState.ENDED else LIVE_TTL_S
        pipe.set(entry_key(session.id), msgspec.json.encode(entry), ex=ttl_s)
        now = int(time.time())
        pipe.zremrangebyscore(calls_key(session.owner), "-inf", now)
        pipe.zadd(calls_key(session.owner), {session.id: now + ttl_s})
        pipe.expire(calls_key(session.owner), LIVE_TTL_S)
