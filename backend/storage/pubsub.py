"""What server processes tell one another over Redis pub/sub: one connection listens for all of a process.

Whoever wants to hear of a channel gives the relay a hearer. The relay's own channel has two kinds of messages, each
naming its user: that there is news for them, and what their open pages should show. A process that has nothing of that
user's lets it pass. Messages may be lost while Redis is away, and nothing durable hangs on them: after every connection
hearers are told to look for themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable
from backend.storage.guard import Guard

log = logging.getLogger(__name__)

CHANNEL = "voice:news"
AGAIN_AFTER_S = 0.5
"""Seconds until the channels are opened once more."""
OPEN_WITHIN_S = 5.0
QUIET_S = 5.0
"""Seconds without a message after which Redis is asked for one; when that brings none either, the channels are opened
anew: a connection may be dead and not say so."""


class Dispatch(msgspec.Struct, omit_defaults=True):
    """One message. With a `type` it is an event for the user's pages, without it is news for the user's calls."""

    user: str
    origin: str
    type: str = ""
    data: dict[str, Any] = {}


Hear = Callable[[bytes | None], None]
"""A message of a channel, as it is; None: some may have been missed. Returns at once."""
ShowPage = Callable[[str, str, dict[str, Any]], None]
"""User id, event type, data: to that user's open pages in this process."""
HearNews = Callable[[str | None], None]
"""There is news for that user; None: there may be for anyone."""


class Relay:
    """This process's ear and mouth. Give it its hearers, then `begin` in a running loop; `close` at the end."""

    def __init__(self, redis: Redis, waiting: Redis) -> None:
        self._redis = redis
        self._waiting = waiting
        self._guard = Guard()
        self._origin = secrets.token_hex(8)
        self._pages: list[ShowPage] = []
        self._news: list[HearNews] = []
        self._hearers: dict[str, list[Hear]] = {CHANNEL: [self._receive]}
        self._task: asyncio.Task[None] | None = None
        self._open = asyncio.Event()

    def __repr__(self) -> str:
        return f"Relay({self._origin}{', listening' if self.listening else ''})"

    @property
    def listening(self) -> bool:
        """Whether the channels are open at this moment."""
        return self._open.is_set()

    def on(self, channel: str, hear: Hear) -> None:
        """Have `hear` called for every message of that channel. Before `begin`."""
        self._hearers.setdefault(channel, []).append(hear)

    def on_page(self, show: ShowPage) -> None:
        """Have `show` called for every page event."""
        self._pages.append(show)

    def on_news(self, hear: HearNews) -> None:
        """Have `hear` called when there is news for somebody."""
        self._news.append(hear)

    def begin(self) -> None:
        """Listen, in a task of our own."""
        self._task = asyncio.create_task(self._listen(), name="relay")

    async def opened(self, within_s: float) -> bool:
        """Wait until the channels are open; whether they are."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._open.wait()
        return self.listening

    async def close(self) -> None:
        """Listen no more."""
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def show(self, user_id: str, type_: str, data: dict[str, Any]) -> None:
        """An event on every open page of that user, here at once and in the other processes."""
        for show in self._pages:
            show(user_id, type_, data)
        await self._publish(Dispatch(user_id, self._origin, type_, data))

    async def news(self, user_id: str) -> None:
        """There is something for that user's calls to look up."""
        for hear in self._news:
            hear(user_id)
        await self._publish(Dispatch(user_id, self._origin))

    async def _publish(self, dispatch: Dispatch) -> None:
        """To the other processes. A Redis that is away costs promptness: they look for themselves every few seconds."""
        with contextlib.suppress(MemoryUnavailable):
            await self._guard(lambda: self._redis.publish(CHANNEL, msgspec.json.encode(dispatch)))

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except (RedisError, OSError, TimeoutError) as error:
                log.debug("the relay's channels broke: %s", type(error).__name__)
            self._open.clear()
            await asyncio.sleep(AGAIN_AFTER_S)

    async def _listen_once(self) -> None:
        async with self._waiting.pubsub() as ear:
            await self._subscribe(ear)
            self._open.set()
            for hearers in self._hearers.values():
                for hear in hearers:
                    hear(None)
            asked = False
            while True:
                message = await ear.get_message(timeout=QUIET_S)
                if message is not None:
                    asked = False
                    self._pass_on(message)
                elif asked:
                    return
                else:
                    asked = True
                    async with asyncio.timeout(OPEN_WITHIN_S):
                        await ear.ping()

    async def _subscribe(self, ear: PubSub) -> None:
        """To every channel; Redis has said so when this returns. Raises `TimeoutError`."""
        async with asyncio.timeout(OPEN_WITHIN_S):
            await ear.subscribe(*self._hearers)
        confirmed = 0
        while confirmed < len(self._hearers):
            message = await ear.get_message(timeout=OPEN_WITHIN_S)
            if message is None:
                raise TimeoutError
            confirmed += message["type"] == "subscribe"
            self._pass_on(message)

    def _pass_on(self, message: dict[str, Any]) -> None:
        if message["type"] == "message":
            for hear in self._hearers.get(message["channel"].decode(), ()):
                hear(message["data"])

    def _receive(self, raw: bytes | None) -> None:
        """A message of our own channel."""
        if raw is None:
            for hear in self._news:
                hear(None)
            return
        try:
            dispatch = msgspec.json.decode(raw, type=Dispatch)
        except msgspec.DecodeError:
            log.warning("somebody else writes to the Redis channel %s", CHANNEL)
            return
        if dispatch.origin == self._origin:
            return
        if dispatch.type:
            for show in self._pages:
                show(dispatch.user, dispatch.type, dispatch.data)
        else:
            for hear in self._news:
                hear(dispatch.user)
