"""A session with its call in another process: requests go there, and its events are followed here."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from backend.errors import MemoryUnavailable, VoiceError
from backend.extensions.cluster.cluster_registry import ClusterRegistry, SessionEntry, decode_event, events_key
from backend.extensions.cluster.rpc import Rpc
from backend.extensions.cluster.sidebands import RemoteSideband
from backend.page_events import SessionEnded
from backend.runtime.faults import decode_or_skip
from backend.sessions.event_log import EventLog, LoggedEvent, name_of
from backend.sessions.handles import SessionHandle
from backend.sessions.registry import END_WITHIN_S
from backend.sessions.session import SessionDescription, SessionState
from backend.sessions.sideband import Send, Sideband
from backend.sessions.transcript import TranscriptEntry

log = logging.getLogger(__name__)

LOST = "server_lost"
"""The reason a session ended when its process died."""


class RemoteEventLog:
    """The events of a session of another process, for any number of readers here; followed while there is one."""

    def __init__(self, session_id: str, rpc: Rpc, registry: ClusterRegistry, on_idle: Callable[[], object]) -> None:
        self._session_id = session_id
        self._rpc = rpc
        self._registry = registry
        self._on_idle = on_idle
        self._log = EventLog()
        self._readers = 0
        self._begun = False

    def __repr__(self) -> str:
        return f"RemoteEventLog({self._session_id[:6]}…, {self._readers} readers, {self._log})"

    async def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        """Yield events numbered above `after`, as `EventLog.follow` does."""
        self._readers += 1
        try:
            await self._begin()
            async with aclosing(self._log.follow(after, quiet_s)) as stream:
                async for events in stream:
                    yield events
        finally:
            self._readers -= 1
            if not self._readers:
                self._rpc.unfollow(events_key(self._session_id))
                self._on_idle()

    def lost(self) -> None:
        """End the streams of the readers, which would hang forever: its process is gone."""
        self._log.publish(SessionEnded(LOST))
        self._log.close()

    async def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        last = 0
        for number, content in await self._registry.events(self._session_id):
            self._on_entry(number, content)
            last = number
        await self._rpc.follow(events_key(self._session_id), last, self._on_entry)

    def _on_entry(self, number: int, content: bytes) -> None:
        event = decode_or_skip("session event", content, decode_event)
        if event is None:
            return
        self._log.restore(LoggedEvent(number, event.type, event.at, event.data))
        if event.type == name_of(SessionEnded):
            self._log.close()


class RemoteHandle(SessionHandle):
    """A session with its call in another process."""

    def __init__(
        self, entry: SessionEntry, rpc: Rpc, registry: ClusterRegistry, event_log: Callable[[str], RemoteEventLog]
    ) -> None:
        self._entry = entry
        self._rpc = rpc
        self._registry = registry
        self._event_log = event_log
        self.id, self.owner = entry.session_id, entry.owner

    def __repr__(self) -> str:
        return f"RemoteHandle({self.id[:6]}… at {self._entry.node[:6]}…)"

    async def describe(self) -> SessionDescription:
        """Return what `GET /api/sessions/{id}` shows; if the process is gone, return the last known state."""
        try:
            shown: SessionDescription = await self.ask("describe")
        except MemoryUnavailable:
            if await self._registry.is_alive(self._entry.node):
                raise
            shown = self._entry.description.copy()
            if shown["state"] != SessionState.ENDED:
                shown.update({"state": SessionState.ENDED, "ended_reason": LOST, "ended_at": time.time()})
        return shown

    async def transcript(self) -> list[TranscriptEntry]:
        """Return what was said, oldest first. Raises `MemoryUnavailable` when its process is gone."""
        messages: list[TranscriptEntry] = await self.ask("transcript")
        return messages

    async def type_text(self, text: str, pictures: Sequence[str] = (), *, shared: bool = False) -> None:
        await self.ask("type_text", text=text, pictures=pictures, shared=shared)

    async def cancel_thinker(self, call: str) -> None:
        await self.ask("cancel_thinker", call=call)

    async def say_answer(self, call: str) -> None:
        await self.ask("say_answer", call=call)

    async def allow_interruptions(self, allowed: bool) -> None:
        await self.ask("allow_interruptions", allowed=allowed)

    async def record(self, on: bool) -> str:
        recording_id: str = await self.ask("record", on=on)
        return recording_id

    async def open_sideband(self, send: Send) -> Sideband:
        return await RemoteSideband(self.ask, self._rpc, send).open()

    async def end(self, reason: str) -> None:
        """End the call in order; one in a process that is gone has ended."""
        if await self._registry.is_alive(self._entry.node):
            await self.ask("end", within_s=END_WITHIN_S + 1, reason=reason)

    async def forget(self) -> None:
        """Delete an ended session before its time, whether or not its process answers."""
        try:
            await self.ask("forget")
        except VoiceError:
            log.info("a session's process does not answer; what is stored of the session is deleted all the same")
        await self._registry.forget(self.id, self.owner)

    async def is_read(self, after: int) -> bool:
        over = self._entry.description["state"] == SessionState.ENDED or not await self._registry.is_alive(
            self._entry.node
        )
        return over and await self._registry.last_event(self.id) <= after

    def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        return self._event_log(self.id).follow(after, quiet_s)

    async def ask(self, what: str, within_s: float = 3.0, **args: Any) -> Any:
        """Call a method of its process's `Cluster`. Raises what that raises, or `MemoryUnavailable`."""
        return await self._rpc.call(self._entry.node, what, {"session": self.id} | args, within_s=within_s)
