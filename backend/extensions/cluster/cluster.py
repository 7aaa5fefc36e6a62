"""Several processes act as one server: each finds its own sessions in its registry, and those of others by RPC."""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import suppress
from typing import Any

import msgspec
from prometheus_client import generate_latest
from redis.asyncio import Redis

from backend.errors import BadRequest, CallerError, MemoryUnavailable, NotFound, TooMany, VoiceError
from backend.extensions.cluster.cluster_registry import ClusterRegistry, NodeState
from backend.extensions.cluster.metrics import merged
from backend.extensions.cluster.remote import RemoteHandle, next_events
from backend.extensions.cluster.replicator import SessionReplicator
from backend.extensions.cluster.rpc import Rpc
from backend.extensions.cluster.sidebands import SidebandHost
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all, supervised
from backend.sessions.handles import CallLocation, CallsHere, SessionHandle, SessionLocator
from backend.sessions.registry import Watcher, no_session
from backend.sessions.session import Session, SessionDescription, SessionRequest, SessionState

log = logging.getLogger(__name__)

ANNOUNCE_WITHIN_S = 0.5
"""The most seconds that a new session waits until the other processes know of it."""
OFFER_WITHIN_S = 10.5
GATHER_WITHIN_S = 1.5
"""The most seconds that all other processes together may take to answer."""


OF_A_SESSION = frozenset(
    (
        *("describe", "transcript", "type_text", "cancel_thinker", "say_answer", "allow_interruptions", "record"),
        *("is_read", "end"),
    )
)
"""The methods of a handle that another process may call for a session here, with the same arguments."""


class Cluster(SessionLocator):
    """A `SessionLocator` over all processes that share one Redis, within `async with`."""

    def __init__(
        self,
        redis: Redis,
        waiting: Redis,
        here: CallsHere,
        *,
        group: str | None = None,
    ) -> None:
        """`redis` is a client with short time limits, `waiting` is one for reads that may wait.

        `group` names the processes behind the same port.
        """
        super().__init__(here.registry)
        self.node = secrets.token_hex(8)
        """This process's name in the cluster, new at every start."""
        self._group = group or self.node
        self._here = here
        self._registry = ClusterRegistry(redis)
        self._rpc = Rpc(redis, waiting, self.node, self._answer)
        self._replicator = SessionReplicator(redis, self.node, self._state)
        self._sidebands = SidebandHost()
        self._tasks: list[asyncio.Task[None]] = []
        here.registry.watcher = self._replicator

    async def find(self, session_id: str) -> SessionHandle:
        with suppress(NotFound):
            return await super().find(session_id)
        entry = await self._registry.entry(session_id)
        if entry is None or entry.node == self.node:
            raise no_session()
        return RemoteHandle(entry, self._rpc, self._registry)

    async def owned_by(self, owner: str) -> list[SessionHandle]:
        """Return the owner's sessions, newest first; those of other processes are left out if Redis does not answer."""
        own = self._sessions.owned_by(owner)
        known: list[tuple[float, SessionHandle]] = [
            (session.opened_at, SessionHandle(self._sessions, session)) for session in own
        ]
        here_ids = {session.id for session in own}
        try:
            entries = await self._registry.entries_of(owner)
        except MemoryUnavailable:
            log.warning("only this process's sessions are listed: Redis does not answer")
            entries = []
        known += [
            (entry.description["since"], RemoteHandle(entry, self._rpc, self._registry))
            for entry in entries
            if entry.session_id not in here_ids and entry.node != self.node
        ]
        return [handle for _, handle in sorted(known, key=lambda each: -each[0])]

    async def announce(self, session: Session) -> None:
        try:
            async with asyncio.timeout(ANNOUNCE_WITHIN_S):
                await self._replicator.flush()
        except (MemoryUnavailable, TimeoutError):
            log.warning("session %s is not known to other processes yet", session.id[:6])

    async def take(self, handle: SessionHandle) -> Session:
        if not isinstance(handle, RemoteHandle):
            return await super().take(handle)
        session = self._sessions.adopt(msgspec.convert(await handle.ask("hand_over"), SessionRequest))
        await self.announce(session)
        return session

    async def offer_to_peer(self, sdp: str, asked: SessionRequest) -> CallLocation | None:
        """Have another process answer an SDP offer; the least busy is asked first, then the next."""
        offer = {"sdp": sdp, "asked": asked}
        for state in await self._others():
            if not state.accepts:
                continue
            try:
                placed: CallLocation = await self._rpc.call(state.node, "offer", offer, within_s=OFFER_WITHIN_S)
            except VoiceError as error:
                if isinstance(error, CallerError) and not isinstance(error, TooMany):
                    raise  # no other process would accept it either
                log.info("another process did not accept the call: %s", error)
                continue
            return placed
        return None

    async def newest(self, count: int) -> list[SessionDescription]:
        """Return all sessions, live ones first; those of a process that does not answer are left out."""
        found = self._sessions.newest(count)
        for _, theirs in await self._ask_all(await self._others(), "newest", count=count):
            found += theirs
        return sorted(found, key=lambda shown: (shown["state"] == SessionState.ENDED, -shown["since"]))[:count]

    async def metrics(self, own: str) -> str:
        siblings = [state for state in await self._others() if state.group == self._group]
        if not siblings:
            return own
        return merged([(self.node, own), *await self._ask_all(siblings, "figures")])

    async def __aenter__(self) -> Cluster:
        """Begin to answer and to follow the other processes, and announce this one to them."""
        await self._rpc.open()
        self._tasks = [supervised("session replicator", self._replicator.run)]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, and let the other processes know that this one ends."""
        await self.stop()
        await self._replicator.leave()

    async def stop(self) -> None:
        """Stop without informing the other processes."""
        self._sessions.watcher = Watcher()
        await self._sidebands.stop()
        await self._rpc.close()
        await cancel_all(self._tasks)

    async def _answer(self, what: str, raw: msgspec.Raw) -> Any:
        """Carry out the method `what` for another process; return its result. Raises the errors of a handle."""
        args: Json = msgspec.json.decode(raw)
        match what:
            case "offer":
                return await self._answer_offer(args["sdp"], msgspec.convert(args["asked"], SessionRequest))
            case "newest":
                return self._sessions.newest(args["count"])
            case "figures":
                return generate_latest(self._here.metrics.registry).decode()
            case "sideband_receive":
                return await self._sidebands.find(args["program"]).receive(args["text"])
            case "sideband_events":
                return await self._sidebands.find(args["program"]).events()
            case "sideband_leave":
                return self._sidebands.find(args["program"]).leave()
        session = self._sessions.find(args.pop("session"))
        handle = SessionHandle(self._sessions, session)
        if what in OF_A_SESSION:
            return await getattr(handle, what)(**args)
        match what:
            case "events":
                return await next_events(handle, **args)
            case "sideband_open":
                return await self._sidebands.open(handle, args["program"])
            case "forget":
                await handle.forget()
                return await self.announce(session)  # write its changes first, so that all can be deleted
            case "hand_over":
                return self._sessions.hand_over(session)
        raise BadRequest(f"This process has no method {what}.", hint="Run the same version in all processes.")

    async def _answer_offer(self, sdp: str, asked: SessionRequest) -> CallLocation:
        session = self._sessions.reserve(asked)
        answer = await self._sessions.answer(session, self._here.accept_offer, sdp)
        await self.announce(session)
        return {"sdp": answer, "session_id": session.id, "conversation_id": session.conversation_id}

    async def _others(self) -> list[NodeState]:
        try:
            return [state for state in await self._registry.nodes() if state.node != self.node]
        except MemoryUnavailable:
            return []

    async def _ask_all(self, nodes: list[NodeState], what: str, **args: Any) -> list[tuple[str, Any]]:
        """Return the answer of each process; those that do not answer are left out."""
        asked = [self._rpc.call(state.node, what, args, within_s=GATHER_WITHIN_S) for state in nodes]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        found = zip(nodes, answers, strict=True)
        return [(state.node, answer) for state, answer in found if not isinstance(answer, BaseException)]

    def _state(self) -> NodeState:
        load, accepts = self._here.load()
        return NodeState(self.node, self._group, self._sessions.live, load, accepts)
