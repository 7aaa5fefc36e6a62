"""The session replicator writes for other processes where this one's sessions are, and the events they publish.

Calls never wait for it: changes are noted in bounded tables, and one task writes everything that has gathered to Redis
in one round trip. While Redis is away the newest events are kept and the oldest dropped, which readers in other
processes see as a gap; readers here miss nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from redis.asyncio import Redis
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_fixed

from backend.errors import MemoryUnavailable
from backend.extensions.cluster.cluster_registry import (
    NODES,
    NodeState,
    SessionEntry,
    StoredEvent,
    calls_key,
    entry_key,
    events_key,
    node_key,
)
from backend.extensions.cluster.rpc import inbox_key
from backend.runtime.faults import skip_record
from backend.runtime.supervisor import event_or_timeout
from backend.sessions.event_log import LOG_LIMIT, LoggedEvent
from backend.sessions.registry import KEEP_ENDED_S, Watcher
from backend.sessions.session import Session, SessionState
from backend.storage.client import RedisClient

log = logging.getLogger(__name__)

HEARTBEAT_S = 4.0
"""Seconds between two heartbeats."""
EXPIRES_S = 12
"""Seconds without a heartbeat after which a process counts as gone."""
LIVE_TTL_S = 3_600
"""Seconds the entry of a live session outlasts its last renewal: its events can be read when its process has died."""
PAUSE_S = 0.1
"""The least seconds between two round trips: an event among eight costs a quarter of a single one."""
EVENTS_KEPT = 5_000
"""Events that may wait for Redis."""
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
        self._events: deque[tuple[str, LoggedEvent]] = deque(maxlen=EVENTS_KEPT)
        self._pending = asyncio.Event()
        self._writing = asyncio.Lock()
        self._heartbeat_at = -HEARTBEAT_S
        self._retrying = AsyncRetrying(
            wait=wait_fixed(RETRY_S), retry=retry_if_exception_type(MemoryUnavailable), before_sleep=_log_outage
        )

    def __repr__(self) -> str:
        return f"SessionReplicator({len(self._sessions)} sessions, {len(self._events)} events to write)"

    @property
    def depth(self) -> int:
        """The number of events that wait to be written."""
        return len(self._events)

    def on_change(self, session: Session) -> None:
        self._sessions[session.id] = session
        self._changed.add(session.id)
        self._pending.set()

    def on_event(self, session: Session, event: LoggedEvent) -> None:
        self._events.append((session.id, event))
        self._pending.set()

    def on_removal(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        self._changed.discard(session.id)
        if session.state is SessionState.ENDED:  # and not one that goes on elsewhere
            self._events = deque((each for each in self._events if each[0] != session.id), maxlen=EVENTS_KEPT)

    async def run(self) -> None:
        """Write changes and heartbeats until cancelled."""
        while True:
            await event_or_timeout(self._pending, max(0.0, self._heartbeat_at + HEARTBEAT_S - time.monotonic()))
            await self._retrying(self.flush)
            await asyncio.sleep(PAUSE_S)

    async def flush(self) -> None:
        """Write the waiting changes. Raises `MemoryUnavailable`, and then keeps them."""
        async with self._writing:
            self._pending.clear()
            heartbeat = time.monotonic() >= self._heartbeat_at + HEARTBEAT_S
            ids = set(self._sessions) if heartbeat else set(self._changed)
            events = list(self._events)
            pipe = self._client.pipeline(transaction=False)  # nothing here hangs together, and MULTI answers each twice
            for session_id in ids & set(self._sessions):
                self._write_entry(pipe, self._sessions[session_id])
            self._write_events(pipe, events)
            if heartbeat:
                pipe.set(node_key(self._node), msgspec.json.encode(self._state()), ex=EXPIRES_S)
                pipe.sadd(NODES, self._node)
            # An event that a lost answer makes us write twice is refused the second time: its number is not higher.
            await self._client.call(lambda _: pipe.execute(raise_on_error=False))
            self._changed -= ids
            self._forget_written(events)
            if heartbeat:
                self._heartbeat_at = time.monotonic()

    async def leave(self) -> None:
        """Write what waits, and remove this process from the registry; by best effort."""
        try:
            await self.flush()
            pipe = self._client.pipeline(transaction=False)
            pipe.delete(node_key(self._node), inbox_key(self._node))
            pipe.srem(NODES, self._node)
            await self._client.execute(pipe)
        except MemoryUnavailable:
            log.warning("the other processes did not get the message that this one ends; they will notice")

    def _write_entry(self, pipe: Any, session: Session) -> None:
        entry = SessionEntry(session.id, self._node, session.owner, session.describe())
        ttl_s = self._ttl_s(session.id)
        pipe.set(entry_key(session.id), msgspec.json.encode(entry), ex=ttl_s)
        pipe.expire(events_key(session.id), ttl_s)
        now = int(time.time())
        pipe.zremrangebyscore(calls_key(session.owner), "-inf", now)
        pipe.zadd(calls_key(session.owner), {session.id: now + ttl_s})
        pipe.expire(calls_key(session.owner), LIVE_TTL_S)

    def _write_events(self, pipe: Any, events: list[tuple[str, LoggedEvent]]) -> None:
        for session_id, event in events:
            try:
                content = msgspec.json.encode(StoredEvent(event.type, event.at, event.data))
            except TypeError as error:
                skip_record("session event", error)  # else it would be tried again for ever, and no event after it
                continue
            pipe.xadd(events_key(session_id), {"v": content}, id=f"{event.id}-0", maxlen=LOG_LIMIT, approximate=True)
        for session_id, event in events:
            if event.id == 1 or session_id not in self._sessions:  # in between, the renewals of its entry see to it
                pipe.expire(events_key(session_id), self._ttl_s(session_id))

    def _ttl_s(self, session_id: str) -> int:
        """Return the seconds for which the entries of that session are kept."""
        session = self._sessions.get(session_id)
        return KEEP_ENDED_S if session is None or session.state is SessionState.ENDED else LIVE_TTL_S

    def _forget_written(self, written: list[tuple[str, LoggedEvent]]) -> None:
        """Drop written events from the table, unless it has dropped them meanwhile."""
        done = {id(event) for _, event in written}
        while self._events and id(self._events[0][1]) in done:
            self._events.popleft()


def _log_outage(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome:
        log.warning("other processes do not learn of our calls: %s", state.outcome.exception())
