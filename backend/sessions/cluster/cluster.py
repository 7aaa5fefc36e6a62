"""The switchboard of several processes: our own sessions from the directory, everybody else's through the post."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from backend.errors import CallerError, MemoryUnavailable, NotFound, TooMany, VoiceError
from backend.observability.merged_metrics import merged
from backend.sessions.cluster.cluster_registry import ClusterRegistry, NodeState
from backend.sessions.cluster.remote import RemoteFeed, RemoteHandle
from backend.sessions.cluster.replicator import BEAT_S, SessionReplicator
from backend.sessions.cluster.rpc import Rpc
from backend.sessions.cluster.rpc_methods import RpcMethods
from backend.sessions.handles import Handle, LocalHandle, here, newest_of, no_session
from backend.sessions.offers import AcceptOffer
from backend.sessions.registry import Directory, Session, SessionState

log = logging.getLogger(__name__)

ANNOUNCE_WITHIN_S = 0.5
"""Seconds a new session's answer may wait until the other processes know of it."""
OFFER_WITHIN_S = 10.5
GATHER_WITHIN_S = 1.5
"""Seconds all the others together may take to answer."""

Load = Callable[[], tuple[float, bool]]
"""How busy we are, 0 to 1, and whether we take another call."""


@dataclass(frozen=True, slots=True)
class ClusterRedis:
    """The Redis the processes share: a client with short time limits, and one whose reads may wait."""

    redis: Redis
    waiting: Redis


class Cluster:
    """A `Switchboard` over all processes that share one Redis. `run` keeps it going; see `open_cluster`."""

    def __init__(
        self,
        link: ClusterRedis,
        directory: Directory,
        accept_offer: AcceptOffer,
        load: Load,
        *,
        figures: Callable[[], str] = lambda: "",
        group: str | None = None,
    ) -> None:
        """`figures` gives this process's page of metrics; `group` names the processes behind the same port."""
        self.node = secrets.token_hex(8)
        """This process's name in the fleet, new at every start."""
        self._group = group or self.node
        self._directory = directory
        self._load = load
        self._register = ClusterRegistry(link.redis)
        self._post = Rpc(link.waiting, self.node, RpcMethods(directory, accept_offer, self.announce, figures))
        self._clerk = SessionReplicator(link.redis, self.node, self._state)
        self._feeds: dict[str, RemoteFeed] = {}
        directory.watcher = self._clerk

    def __repr__(self) -> str:
        return f"Cluster({self.node[:6]}…, {self._clerk}, {len(self._feeds)} followed)"

    @property
    def depth(self) -> int:
        """Events that wait to be written for the other processes."""
        return self._clerk.depth

    async def find(self, session_id: str) -> Handle:
        """See `Switchboard`."""
        with suppress(NotFound):
            return self._local(self._directory.find(session_id))
        card = await self._register.card(session_id)
        if card is None or card.node == self.node:
            raise no_session()
        return RemoteHandle(card, self._post, self._register, self._feed)

    async def owned_by(self, owner: str) -> list[Handle]:
        """See `Switchboard`. Those elsewhere are left out while Redis is away."""
        own = self._directory.owned_by(owner)
        known: list[tuple[float, Handle]] = [(session.opened_at, self._local(session)) for session in own]
        here_ids = {session.id for session in own}
        try:
            cards = await self._register.cards_of(owner)
        except MemoryUnavailable:
            log.warning("only this process's sessions are listed: Redis does not answer")
            cards = []
        known += [
            (card.description["since"], RemoteHandle(card, self._post, self._register, self._feed))
            for card in cards
            if card.session_id not in here_ids and card.node != self.node
        ]
        return [handle for _, handle in sorted(known, key=lambda each: -each[0])]

    async def announce(self, session: Session) -> None:
        """See `Switchboard`."""
        try:
            async with asyncio.timeout(ANNOUNCE_WITHIN_S):
                await self._clerk.flush()
        except (RedisError, OSError, TimeoutError):
            log.warning("session %s is not known to other processes yet", session.id[:6])

    async def take(self, handle: Handle) -> Session:
        """See `Switchboard`."""
        if not isinstance(handle, RemoteHandle):
            return here(handle)
        session = self._directory.adopt(await handle.ask("hand_over"))
        await self.announce(session)
        return session

    async def offer_elsewhere(self, offer: dict[str, Any]) -> dict[str, Any] | None:
        """See `Switchboard`. The least busy is asked first, then the next."""
        for state in await self._others():
            if not state.accepts:
                continue
            try:
                placed: dict[str, Any] = await self._post.ask(state.node, "offer", offer, within_s=OFFER_WITHIN_S)
            except VoiceError as error:
                if isinstance(error, CallerError) and not isinstance(error, TooMany):
                    raise  # nobody else would take it either
                log.info("another process did not take the call: %s", error)
                continue
            return placed
        return None

    async def newest(self, count: int) -> list[dict[str, Any]]:
        """See `Switchboard`. Those of a process that does not answer are left out."""
        found = newest_of(self._directory, count)
        for _, theirs in await self._ask_all(await self._others(), "newest", count=count):
            found += theirs
        return sorted(found, key=lambda shown: (shown["state"] == SessionState.ENDED, -shown["since"]))[:count]

    async def figures(self, own: str) -> str:
        """See `Switchboard`."""
        siblings = [state for state in await self._others() if state.group == self._group]
        if not siblings:
            return own
        return merged([(self.node, own), *await self._ask_all(siblings, "figures")])

    async def erase(self, owner: str) -> None:
        """Delete what is kept here of a user's calls, wherever they were."""
        for card in await self._register.cards_of(owner):
            await self._register.forget(card.session_id, owner)

    async def export(self, owner: str) -> list[dict[str, Any]]:
        """A user's calls of the last minutes."""
        return [card.description for card in await self._register.cards_of(owner)]

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._post.run(), name="fleet post")
            tasks.create_task(self._clerk.run(), name="fleet clerk")
            tasks.create_task(self._watch_others(), name="fleet watch")

    async def close(self) -> None:
        """Tell the others that we are gone."""
        await self._clerk.leave()

    async def _others(self) -> list[NodeState]:
        try:
            return [state for state in await self._register.nodes() if state.node != self.node]
        except MemoryUnavailable:
            return []

    async def _ask_all(self, nodes: list[NodeState], what: str, **args: Any) -> list[tuple[str, Any]]:
        """What each of them answers; who does not is left out."""
        asked = [self._post.ask(state.node, what, args, within_s=GATHER_WITHIN_S) for state in nodes]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        found = zip(nodes, answers, strict=True)
        return [(state.node, answer) for state, answer in found if not isinstance(answer, BaseException)]

    async def _watch_others(self) -> None:
        """A process that dies takes its calls with it: whoever reads their events here is told."""
        while True:
            await asyncio.sleep(BEAT_S)
            for session_id, feed in list(self._feeds.items()):
                try:
                    card = await self._register.card(session_id)
                    if card is None or not await self._register.lives(card.node):
                        feed.lost()
                except VoiceError:
                    break

    def _state(self) -> NodeState:
        load, accepts = self._load()
        return NodeState(self.node, self._group, self._directory.live, load, accepts)

    def _local(self, session: Session) -> Handle:
        return LocalHandle(self._directory, session)

    def _feed(self, session_id: str) -> RemoteFeed:
        if session_id not in self._feeds:
            self._feeds[session_id] = RemoteFeed(
                session_id, self._post, self._register, lambda: self._drop_feed(session_id)
            )
        return self._feeds[session_id]

    def _drop_feed(self, session_id: str) -> None:
        self._feeds.pop(session_id, None)


@asynccontextmanager
async def open_cluster(
    link: ClusterRedis,
    directory: Directory,
    accept_offer: AcceptOffer,
    load: Load,
    *,
    figures: Callable[[], str],
    group: str | None,
) -> AsyncIterator[Cluster]:
    """A fleet that runs until the block ends. See `Cluster`."""
    fleet = Cluster(link, directory, accept_offer, load, figures=figures, group=group)
    running = asyncio.create_task(fleet.run(), name="fleet")
    try:
        yield fleet
    finally:
        await fleet.close()
        running.cancel()
        await asyncio.wait([running])
        directory.watcher = None
