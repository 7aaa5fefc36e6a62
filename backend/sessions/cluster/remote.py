"""A session whose call lives in another process."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from backend.errors import MemoryUnavailable, VoiceError
from backend.sessions.cluster.cluster_registry import ClusterRegistry, SessionEntry, events_of
from backend.sessions.cluster.rpc import Rpc
from backend.sessions.event_log import Feed, PageEvent
from backend.sessions.registry import END_WITHIN_S, SessionState

log = logging.getLogger(__name__)

LOST = "server_lost"
"""Why a session ended whose process died."""


class RemoteFeed:
    """The events of a session elsewhere, for any number of readers here; followed while there is one."""

    def __init__(self, session_id: str, post: Rpc, register: ClusterRegistry, on_idle: Callable[[], None]) -> None:
        self._session_id = session_id
        self._post = post
        self._register = register
        self._on_idle = on_idle
        self._feed = Feed()
        self._readers = 0
        self._begun = False

    def __repr__(self) -> str:
        return f"RemoteFeed({self._session_id[:6]}…, {self._readers} readers, {self._feed})"

    async def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[PageEvent], None]:
        """See `Feed.follow`."""
        self._readers += 1
        try:
            await self._begin()
            async with aclosing(self._feed.follow(after, quiet_s)) as stream:
                async for events in stream:
                    yield events
        finally:
            self._readers -= 1
            if not self._readers:
                self._post.unfollow(events_of(self._session_id))
                self._on_idle()

    def lost(self) -> None:
        """Its process is gone: tell the readers, whose streams would hang for ever."""
        self._feed.publish("session_ended", {"reason": LOST})
        self._feed.close()

    async def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        last = 0
        for number, content in await self._register.events(self._session_id):
            self._put(number, content)
            last = number
        await self._post.follow(events_of(self._session_id), last, self._put)

    def _put(self, number: int, content: bytes) -> None:
        type_, at, data = msgspec.json.decode(content)
        self._feed.put(PageEvent(number, type_, at, data))
        if type_ == "session_ended":
            self._feed.close()


class RemoteHandle:
    """See `sessions.handles.Handle`."""

    def __init__(
        self, card: SessionEntry, post: Rpc, register: ClusterRegistry, feed: Callable[[str], RemoteFeed]
    ) -> None:
        self._card = card
        self._post = post
        self._register = register
        self._feed = feed

    def __repr__(self) -> str:
        return f"RemoteHandle({self.id[:6]}… at {self._card.node[:6]}…)"

    @property
    def id(self) -> str:
        """See `Handle`."""
        return self._card.session_id

    @property
    def owner(self) -> str:
        """See `Handle`."""
        return self._card.owner

    @property
    def node(self) -> str:
        """The process that has it."""
        return self._card.node

    async def describe(self) -> dict[str, Any]:
        """See `Handle`; of a session whose process is gone, what was last known."""
        try:
            shown: dict[str, Any] = await self.ask("describe")
        except MemoryUnavailable:
            if await self._register.lives(self._card.node):
                raise
            return self._last_known()
        return shown

    async def transcript(self) -> list[dict[str, Any]]:
        """See `Handle`. Raises `MemoryUnavailable` when its process is gone."""
        messages: list[dict[str, Any]] = await self.ask("transcript")
        return messages

    async def type_text(self, text: str) -> None:
        """See `Handle`."""
        await self.ask("type_text", text=text)

    async def cancel_thinker(self, call: str) -> None:
        """See `Handle`."""
        await self.ask("cancel_thinker", call=call)

    async def say_answer(self, call: str) -> None:
        """See `Handle`."""
        await self.ask("say_answer", call=call)

    async def end(self, reason: str) -> None:
        """See `Handle`; one whose process is gone has ended."""
        if await self._register.lives(self._card.node):
            await self.ask("end", within_s=END_WITHIN_S + 1, reason=reason)

    async def forget(self) -> None:
        """See `Handle`."""
        try:
            await self.ask("forget")
        except VoiceError:
            log.info("a session's process did not take leave of it; what is kept of it is deleted all the same")
        await self._register.forget(self.id, self.owner)

    async def told(self, after: int) -> bool:
        """See `Handle`."""
        over = self._card.description["state"] == SessionState.ENDED or not await self._register.lives(self._card.node)
        return over and await self._register.last_event(self.id) <= after

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[PageEvent], None]:
        """See `Handle`."""
        return self._feed(self.id).follow(after, quiet_s)

    async def ask(self, what: str, within_s: float = 3.0, **args: Any) -> Any:
        """Ask its process something that `sessions.cluster.rpc_methods` knows."""
        return await self._post.ask(self._card.node, what, {"session": self.id} | args, within_s=within_s)

    def _last_known(self) -> dict[str, Any]:
        shown = dict(self._card.description)
        if shown["state"] != SessionState.ENDED:
            shown |= {"state": SessionState.ENDED, "ended_reason": LOST, "ended_at": time.time()}
        return shown
