"""What server processes tell one another about a user: that there is news, and what an open page should show.

One Redis channel for all, each message naming its user: a process that has nothing of that user's lets it pass.
Messages may be lost while Redis is away, and nothing durable hangs on them: after every connection listeners are told
to look for themselves.
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
from redis.exceptions import RedisError

from backend.errors import MemoryUnavailable
from backend.memory.guard import Guard

log = logging.getLogger(__name__)

CHANNEL = "voice:news"
AGAIN_AFTER_S = 0.5
"""Seconds until the channel is opened once more."""
SILENCE_S = 60.0
"""Seconds without a message after which the channel is opened anew: a connection may be dead and not say so."""


class Dispatch(msgspec.Struct, omit_defaults=True):
    """One message. With a `type` it is an event for the user's pages, without it is news for the user's calls."""

    user: str
    origin: str
    type: str = ""
    data: dict[str, Any] = {}


ShowPage = Callable[[str, str, dict[str, Any]], None]
"""User id, event type, data: to that user's open pages in this process."""
HearNews = Callable[[str | None], None]
"""There is news for that user; None: there may be for anyone."""


class Relay:
    """This process's end of the channel. `begin` in a running loop; `close` at the end."""

    def __init__(self, redis: Redis, waiting: Redis) -> None:
        self._redis = redis
        self._waiting = waiting
        self._guard = Guard()
        self._origin = secrets.token_hex(8)
        self._pages: list[ShowPage] = []
        self._hearers: list[HearNews] = []
        self._task: asyncio.Task[None] | None = None
        self.listening = False
        """Whether the channel is open at this moment."""

    def __repr__(self) -> str:
        return f"Relay({self._origin}{', listening' if self.listening else ''})"

    def on_page(self, show: ShowPage) -> None:
        """Have `show` called for every page event."""
        self._pages.append(show)

    def on_news(self, hear: HearNews) -> None:
        """Have `hear` called when there is news for somebody."""
        self._hearers.append(hear)

    def begin(self) -> None:
        """Listen, in a task of our own."""
        self._task = asyncio.create_task(self._listen(), name="relay")

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
        for hear in self._hearers:
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
                self.listening = False
                log.debug("the relay's channel broke: %s", type(error).__name__)
                await asyncio.sleep(AGAIN_AFTER_S)

    async def _listen_once(self) -> None:
        async with self._waiting.pubsub() as channel:
            async with asyncio.timeout(5):
                await channel.subscribe(CHANNEL)
            self.listening = True
            for hear in self._hearers:
                hear(None)
            quiet = False
            while not quiet:
                message = await channel.get_message(timeout=SILENCE_S)
                quiet = message is None
                if message and message["type"] == "message":
                    self._receive(message["data"])

    def _receive(self, raw: bytes) -> None:
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
            for hear in self._hearers:
                hear(dispatch.user)
