"""Several processes as one server: each finds its own sessions in its registry, and the others' by RPC."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from prometheus_client import generate_latest
from redis.asyncio import Redis

from backend.errors import BadRequest, CallerError, MemoryUnavailable, NotFound, TooMany, VoiceError
from backend.extensions.cluster.cluster_registry import ClusterRegistry, NodeState
from backend.extensions.cluster.metrics import merged
from backend.extensions.cluster.remote import RemoteEventLog, RemoteHandle
from backend.extensions.cluster.replicator import HEARTBEAT_S, SessionReplicator
from backend.extensions.cluster.rpc import Rpc
from backend.extensions.cluster.sidebands import SidebandHost
from backend.runtime.supervisor import cancel_all, supervised
from backend.sessions.handles import CallsHere, LocalHandle, PlacedCall, SessionHandle, SessionLocator
from backend.sessions.registry import Watcher, no_session
from backend.sessions.session import Session, SessionDescription, SessionRequest, SessionState

log = logging.getLogger(__name__)

ANNOUNCE_WITHIN_S = 0.5
"""Seconds a new session may wait until the other processes know of it."""
OFFER_WITHIN_S = 10.5
GATHER_WITHIN_S = 1.5
"""Seconds all the other processes together may take to answer."""


class _Arguments(msgspec.Struct, frozen=True):
    """The arguments of all RPC methods together. Unknown ones of a newer version are ignored."""

    session: str = ""
    text: str = ""
    pictures: tuple[str, ...] = ()
    call: str = ""
    reason: str = ""
    sdp: str = ""
    asked: SessionRequest | None = None
    count: int = 0
    allowed: bool = True
    on: bool = False
    shared: bool = False
    program: str = ""


_arguments = msgspec.json.Decoder(_Arguments)


_OF_A_SESSION: Mapping[str, Callable[[LocalHandle, _Arguments], Awaitable[Any]]] = {
    "describe": lambda handle, _: handle.describe(),
    "transcript": lambda handle, _: handle.transcript(),
    "type_text": lambda handle, args: handle.type_text(args.text, args.pictures, shared=args.shared),
    "cancel_thinker": lambda handle, args: handle.cancel_thinker(args.call),
    "say_answer": lambda handle, args: handle.say_answer(args.call),
    "allow_interruptions": lambda handle, args: handle.allow_interruptions(args.allowed),
    "record": lambda handle, args: handle.record(args.on),
    "end": lambda handle, args: handle.end(args.reason),
}
"""The requests that another process may make of a session here, as of a handle."""


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
        """`redis` and `waiting`: clients with short time limits, and for reads that may wait.

        `group` names the processes behind the same port.
        """
        super().__init__(here.registry)
        self.node = secrets.token_hex(8)
        """This process's name in the cluster, new at every start."""
        self._group = group or self.node
        self._here = here
        self._registry = ClusterRegistry(redis)
        self._rpc = Rpc(waiting, self.node, self._answer)
        self._replicator = SessionReplicator(redis, self.node, self._state)
        self._sidebands = SidebandHost(redis)
        self._followed: dict[str, RemoteEventLog] = {}
        self._tasks: list[asyncio.Task[None]] = []
        here.registry.watcher = self._replicator

    def __repr__(self) -> str:
        return f"Cluster({self.node[:6]}…, {self._replicator}, {len(self._followed)} followed)"

    @property
    def depth(self) -> int:
        """The number of events that wait to be written for the other processes."""
        return self._replicator.depth

    async def find(self, session_id: str) -> SessionHandle:
        with suppress(NotFound):
            return await super().find(session_id)
        entry = await self._registry.entry(session_id)
        if entry is None or entry.node == self.node:
            raise no_session()
        return RemoteHandle(entry, self._rpc, self._registry, self._event_log)

    async def owned_by(self, owner: str) -> list[SessionHandle]:
        """Return the owner's sessions, newest first; those of other processes are left out while Redis is away."""
        own = self._sessions.owned_by(owner)
        known: list[tuple[float, SessionHandle]] = [
            (session.opened_at, LocalHandle(self._sessions, session)) for session in own
        ]
        here_ids = {session.id for session in own}
        try:
            entries = await self._registry.entries_of(owner)
        except MemoryUnavailable:
            log.warning("only this process's sessions are listed: Redis does not answer")
            entries = []
        known += [
            (entry.description["since"], RemoteHandle(entry, self._rpc, self._registry, self._event_log))
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

    async def offer_to_peer(self, sdp: str, asked: SessionRequest) -> PlacedCall | None:
        """Have another process answer an SDP offer; the least busy is asked first, then the next."""
        offer = {"sdp": sdp, "asked": asked}
        for state in await self._others():
            if not state.accepts:
                continue
            try:
                placed: PlacedCall = await self._rpc.call(state.node, "offer", offer, within_s=OFFER_WITHIN_S)
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
        """Answer and follow the other processes, and let them know of this one."""
        self._tasks = [
            supervised("cluster RPC", self._rpc.run),
            supervised("session replicator", self._replicator.run),
            supervised("cluster watch", self._watch_others),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, and let the other processes know that this one ends."""
        await self.stop()
        await self._replicator.leave()

    async def stop(self) -> None:
        """Stop without a word to the other processes."""
        self._sessions.watcher = Watcher()
        await self._sidebands.stop()
        await cancel_all(self._tasks)

    async def _answer(self, what: str, raw: msgspec.Raw) -> Any:
        """Return the answer to another process that calls the method `what`. Raises `VoiceError` as a handle does."""
        args = _arguments.decode(raw)
        match what:
            case "offer":
                return await self._answer_offer(args)
            case "newest":
                return self._sessions.newest(args.count)
            case "figures":
                return generate_latest(self._here.metrics.registry).decode()
            case "sideband_receive":
                return await self._sidebands.find(args.program).receive(args.text)
            case "sideband_renew":
                return self._sidebands.find(args.program).renew()
            case "sideband_leave":
                return self._sidebands.find(args.program).end()
        session = self._sessions.find(args.session)
        handle = LocalHandle(self._sessions, session)
        if ask := _OF_A_SESSION.get(what):
            return await ask(handle, args)
        match what:
            case "sideband_open":
                return await self._sidebands.open(handle, args.program)
            case "forget":
                await handle.forget()
                return await self.announce(session)  # writes what waits of it, so that all of it can be deleted
            case "hand_over":
                return self._sessions.hand_over(session)
        raise BadRequest(f"This process has no method {what}.", hint="Do all processes run the same version?")

    async def _answer_offer(self, args: _Arguments) -> PlacedCall:
        if args.asked is None:
            raise BadRequest("The offer is for no session.", hint="Do all processes run the same version?")
        session = self._sessions.reserve(args.asked)
        answer = await self._sessions.answer(session, self._here.accept_offer, args.sdp)
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

    async def _watch_others(self) -> None:
        """End the streams of readers here when the process of their session has died: its calls died with it."""
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            for session_id, event_log in list(self._followed.items()):
                try:
                    entry = await self._registry.entry(session_id)
                    known = await (
                        self._registry.is_alive(entry.node) if entry else self._registry.is_known(session_id)
                    )
                    if not known:
                        event_log.lost()
                except VoiceError:
                    break

    def _state(self) -> NodeState:
        load, accepts = self._here.load()
        return NodeState(self.node, self._group, self._sessions.live, load, accepts)

    def _event_log(self, session_id: str) -> RemoteEventLog:
        if session_id not in self._followed:
            self._followed[session_id] = RemoteEventLog(
                session_id, self._rpc, self._registry, lambda: self._followed.pop(session_id, None)
            )
        return self._followed[session_id]
