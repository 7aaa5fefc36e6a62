"""Writes down for the other processes what happens in this one: where its sessions are, and what they tell the page.

Calls never wait for it: what happens is noted in bounded tables, and one task carries them to Redis, everything that
has gathered in one round trip. While Redis is away the newest events are kept and the oldest dropped, which readers
elsewhere see as a gap; readers here miss nothing.
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
from redis.exceptions import RedisError

from backend.sessions.cluster.cluster_registry import (
    NODES,
    NodeState,
    SessionEntry,
    calls_of,
    card_of,
    events_of,
    node_of,
)
from backend.sessions.event_log import FEED_LIMIT, PageEvent
from backend.sessions.registry import KEEP_ENDED_S, Session, SessionState

log = logging.getLogger(__name__)

BEAT_S = 4.0
"""Seconds between two signs of life."""
LIFE_S = 12
"""Seconds without one after which a process counts as gone."""
LIVE_TTL_S = 3_600
"""Seconds the card of a live session outlasts its last renewal: its events can be read when its process has died."""
PAUSE_S = 0.1
"""Seconds between two round trips, at least: an event among eight costs a quarter of one that travels alone, and only
a page that another process serves is told so much later."""
EVENTS_KEPT = 5_000
"""Events that may wait for Redis."""
FLUSH_WITHIN_S = 1.0
REST_S = 1.0
"""Seconds between tries while Redis does not answer."""


class SessionReplicator:
    """Watches a directory (see `sessions.registry.Watcher`)."""

    def __init__(self, redis: Redis, node: str, state: Callable[[], NodeState]) -> None:
        self._redis = redis
        self._node = node
        self._state = state
        self._sessions: dict[str, Session] = {}
        """Ours, live or lately ended."""
        self._changed: set[str] = set()
        self._events: deque[tuple[str, PageEvent]] = deque(maxlen=EVENTS_KEPT)
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self._beaten = -BEAT_S

    def __repr__(self) -> str:
        return f"SessionReplicator({len(self._sessions)} sessions, {len(self._events)} events to write)"

    @property
    def depth(self) -> int:
        """Events that wait."""
        return len(self._events)

    def changed(self, session: Session) -> None:
        """A session is new, or its state is another."""
        self._sessions[session.id] = session
        self._changed.add(session.id)
        self._news.set()

    def told(self, session: Session, event: PageEvent) -> None:
        """A session told the page something."""
        self._events.append((session.id, event))
        self._news.set()

    def dropped(self, session: Session) -> None:
        """A session is not ours any more, or forgotten."""
        self._sessions.pop(session.id, None)
        self._changed.discard(session.id)
        if session.state is SessionState.ENDED:  # and not one that goes on elsewhere
            self._events = deque((each for each in self._events if each[0] != session.id), maxlen=EVENTS_KEPT)

    async def run(self) -> None:
        """Write until cancelled, and tell that we live."""
        trouble = False
        while True:
            try:
                async with asyncio.timeout(max(0.0, self._beaten + BEAT_S - time.monotonic())):
                    await self._news.wait()
            except TimeoutError:
                pass
            try:
                await self.flush()
                trouble = False
                await asyncio.sleep(PAUSE_S)
            except (RedisError, OSError, TimeoutError) as error:
                if not trouble:
                    log.warning("other processes do not learn of our calls: Redis does not answer (%s)", error)
                trouble = True
                await asyncio.sleep(REST_S)

    async def flush(self) -> None:
        """Write what there is. Raises `RedisError`, `OSError` or `TimeoutError`, and keeps it then."""
        async with self._writing, asyncio.timeout(FLUSH_WITHIN_S):
            self._news.clear()
            beat = time.monotonic() >= self._beaten + BEAT_S
            ids = set(self._sessions) if beat else set(self._changed)
            events = list(self._events)
            pipe = self._redis.pipeline(transaction=False)  # nothing here hangs together, and MULTI answers each twice
            for session_id in ids & set(self._sessions):
                self._write_card(pipe, self._sessions[session_id])
            self._write_events(pipe, events)
            if beat:
                pipe.set(node_of(self._node), msgspec.json.encode(self._state()), ex=LIFE_S)
                pipe.sadd(NODES, self._node)
            # An event that a lost answer makes us write twice is refused the second time: its number is not higher.
            await pipe.execute(raise_on_error=False)
            self._changed -= ids
            self._forget_written(events)
            if beat:
                self._beaten = time.monotonic()

    async def leave(self) -> None:
        """Tell that we are going; by best effort."""
        try:
            await self.flush()
            async with asyncio.timeout(FLUSH_WITHIN_S):
                await self._redis.delete(node_of(self._node), f"fleet:{self._node}:inbox")
                await self._redis.srem(NODES, self._node)
        except (RedisError, OSError, TimeoutError):
            log.warning("the other processes could not be told that this one ends; they will notice")

    def _write_card(self, pipe: Any, session: Session) -> None:
        card = SessionEntry(session.id, self._node, session.owner, session.describe())
        ttl_s = self._ttl_s(session.id)
        pipe.set(card_of(session.id), msgspec.json.encode(card), ex=ttl_s)
        pipe.expire(events_of(session.id), ttl_s)
        now = int(time.time())
        pipe.zremrangebyscore(calls_of(session.owner), "-inf", now)
        pipe.zadd(calls_of(session.owner), {session.id: now + ttl_s})
        pipe.expire(calls_of(session.owner), LIVE_TTL_S)

    def _write_events(self, pipe: Any, events: list[tuple[str, PageEvent]]) -> None:
        for session_id, event in events:
            content = msgspec.json.encode((event.type, event.at, event.data))
            pipe.xadd(events_of(session_id), {"v": content}, id=f"{event.id}-0", maxlen=FEED_LIMIT, approximate=True)
        for session_id, event in events:
            if event.id == 1 or session_id not in self._sessions:  # in between, the renewals of its card see to it
                pipe.expire(events_of(session_id), self._ttl_s(session_id))

    def _ttl_s(self, session_id: str) -> int:
        """Seconds what is written of that session may outlast this moment."""
        session = self._sessions.get(session_id)
        return KEEP_ENDED_S if session is None or session.state is SessionState.ENDED else LIVE_TTL_S

    def _forget_written(self, written: list[tuple[str, PageEvent]]) -> None:
        """Take from the table what was written, unless the table has dropped it by itself meanwhile."""
        done = {id(event) for _, event in written}
        while self._events and id(self._events[0][1]) in done:
            self._events.popleft()
