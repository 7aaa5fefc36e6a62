"""A session with its call in another process: requests go there, and its events come from there."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from backend.errors import MemoryUnavailable, NotFound, VoiceError
from backend.extensions.cluster.cluster_registry import ClusterRegistry, SessionEntry
from backend.extensions.cluster.rpc import ANSWER_WITHIN_S, Rpc
from backend.extensions.cluster.sidebands import RemoteSideband
from backend.page_events import SessionEnded
from backend.sessions.event_log import LoggedEvent, page_message
from backend.sessions.handles import SessionHandle
from backend.sessions.registry import END_WITHIN_S
from backend.sessions.session import SessionDescription, SessionState, TranscriptEntry
from backend.sessions.sideband import Send, Sideband

log = logging.getLogger(__name__)

LOST = "server_lost"
"""The reason a session ended when its process died."""
WAIT_S = 2.0
"""Seconds for which an answer waits for events."""
PAUSE_S = 0.25
"""Seconds between two requests for events. A request costs both processes CPU, so it fetches several together."""


class EventBatch(msgspec.Struct):
    """The next events of a session in another process; with `over`, none will follow."""

    events: list[LoggedEvent] = []
    over: bool = False


async def next_events(handle: SessionHandle, after: int, wait_s: float) -> EventBatch:
    """Return the events numbered above `after` for another process; wait up to `wait_s` seconds for one."""
    async with aclosing(handle.follow(after, wait_s)) as stream:
        events = await anext(stream, None)
    return EventBatch(list(events or ()), over=events is None)


class RemoteHandle(SessionHandle):
    """A session with its call in another process."""

    def __init__(self, entry: SessionEntry, rpc: Rpc, registry: ClusterRegistry) -> None:
        self._entry = entry
        self._rpc = rpc
        self._registry = registry
        self.id, self.owner = entry.session_id, entry.owner

    async def describe(self) -> SessionDescription:
        """Return what `GET /api/sessions/{id}` shows; if the process is gone, return the last known state."""
        try:
            shown: SessionDescription = await self.ask("describe")
        except MemoryUnavailable:
            if not await self._is_lost():
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
        return await RemoteSideband(self.ask, send).open()

    async def end(self, reason: str) -> None:
        """End the call in order. If its process is gone, the call has ended already."""
        if not await self._is_lost():
            await self.ask("end", within_s=END_WITHIN_S + 1, reason=reason)

    async def forget(self) -> None:
        """Delete an ended session before its time, whether or not its process answers."""
        try:
            await self.ask("forget")
        except VoiceError:
            log.info("a session's process does not answer; the stored data of the session is deleted nevertheless")
        await self._registry.forget(self.id, self.owner)

    async def is_read(self, after: int) -> bool:
        """Return whether no event is left to read. A reader of a lost session gets only the event that says so."""
        try:
            return bool(await self.ask("is_read", after=after))
        except MemoryUnavailable:
            return after > 0 and await self._is_lost()

    async def follow(self, after: int, quiet_s: float) -> AsyncGenerator[Sequence[LoggedEvent], None]:
        heard_at = time.monotonic()
        while True:
            try:
                batch = await self._next_events(after, min(quiet_s, WAIT_S))
            except NotFound:  # it has been forgotten, or handed over to another process
                return
            if batch.events:
                after, heard_at = batch.events[-1].id, time.monotonic()
                yield batch.events
            if batch.over:
                return
            if time.monotonic() >= heard_at + quiet_s:
                heard_at = time.monotonic()
                yield ()
            await asyncio.sleep(PAUSE_S)

    async def _next_events(self, after: int, wait_s: float) -> EventBatch:
        """Return the next events. If the process has died, the last event says that the session is lost."""
        try:
            found = await self.ask("events", wait_s + ANSWER_WITHIN_S, after=after, wait_s=wait_s)
        except MemoryUnavailable:
            if not await self._is_lost():
                return EventBatch()
            name, data = page_message(SessionEnded(LOST))
            return EventBatch([LoggedEvent(after + 1, name, time.time(), data)], over=True)
        return msgspec.convert(found, EventBatch)

    async def _is_lost(self) -> bool:
        """Return whether the session's process has died; False if Redis does not answer."""
        try:
            return not await self._registry.is_alive(self._entry.node)
        except MemoryUnavailable:
            return False

    async def ask(self, what: str, within_s: float = ANSWER_WITHIN_S, **args: Any) -> Any:
        """Call a method of the `Cluster` in the session's process. Raises its errors, or `MemoryUnavailable`."""
        return await self._rpc.call(self._entry.node, what, {"session": self.id} | args, within_s=within_s)
