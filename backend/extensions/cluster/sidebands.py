"""Sideband programs that reached another process than their call. `RemoteSideband` asks the call's process for its
events, again and again; each answer waits a moment for some.

    program  ──WebSocket──  RemoteSideband  ──RPC──►  SidebandHost  ──  the call

A program that has not asked for `LOST_S` counts as gone. If no answer comes, the program is let go, and connects again.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from backend.errors import NotFound, VoiceError
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all, event_or_timeout, start_among
from backend.sessions.handles import SessionHandle
from backend.sessions.sideband import Send, Sideband

WAIT_S = 2.0
"""Seconds for which an answer waits for events."""
LOST_S = 12.0
"""Seconds without a request after which a program counts as gone."""
LOOK_EVERY_S = 1.0
"""Seconds between two checks that a program is still there."""
GATHER_S = 0.02
"""Seconds for which events gather before they are sent together."""
EVENTS_LIMIT = 2_000
"""The most events that may wait for a program; a program that is further behind is let go."""

Ask = Callable[..., Awaitable[Any]]
"""Calls a method of the call's process, as `RemoteHandle.ask` does."""


class RemoteSideband(Sideband):
    """A program of this process that follows a call of another one."""

    def __init__(self, ask: Ask, send: Send) -> None:
        """`send` gets the call's events while `over` waits."""
        self._ask = ask
        self._send = send
        self._id = secrets.token_hex(12)

    async def open(self) -> RemoteSideband:
        """Begin to follow the call. Raises the errors of `SessionHandle.open_sideband`, or `MemoryUnavailable`."""
        await self._ask("sideband_open", program=self._id)
        return self

    async def receive(self, text: str) -> None:
        await self._ask("sideband_receive", program=self._id, text=text)

    async def over(self) -> None:
        more = True
        while more:
            try:
                news = await self._ask("sideband_events", program=self._id)
            except VoiceError:
                return
            more = not news["over"]
            for event in news["events"]:
                self._send(event)

    async def leave(self) -> None:
        with suppress(VoiceError):
            await self._ask("sideband_leave", program=self._id)


class HostedProgram:
    """A program of another process that follows a call of this one."""

    def __init__(self, sideband_of: Callable[[Send], Awaitable[Sideband]]) -> None:
        self._sideband_of = sideband_of
        self._sideband: Sideband | None = None
        self._events: deque[Json] = deque()
        self._wake = asyncio.Event()
        self._asked_at = time.monotonic()
        self._leaving = asyncio.Event()
        self._over = False

    async def open(self) -> None:
        """Begin to follow the call. Raises the errors of `open_sideband`."""
        self._sideband = await self._sideband_of(self._put)

    async def events(self) -> dict[str, object]:
        """Return the events since the last request, and whether the call is over; wait a moment for one of the two."""
        self._asked_at = time.monotonic()
        await event_or_timeout(self._wake, WAIT_S)
        await asyncio.sleep(GATHER_S)
        self._wake.clear()
        found, self._events = list(self._events), deque()
        return {"events": found, "over": self._over}

    async def receive(self, text: str) -> None:
        """Carry out an event that the program sent."""
        assert self._sideband is not None
        await self._sideband.receive(text)

    def leave(self) -> None:
        """Stop following the call."""
        self._leaving.set()

    async def serve(self) -> None:
        """Keep the program's place until it leaves or is gone."""
        assert self._sideband is not None
        over = asyncio.create_task(self._sideband.over(), name="sideband of another process")
        over.add_done_callback(lambda _: self._end())
        try:
            while self._is_there:
                await event_or_timeout(self._leaving, LOOK_EVERY_S)
        finally:
            await self._sideband.leave()
            await cancel_all([over])

    @property
    def _is_there(self) -> bool:
        keeps_up = len(self._events) <= EVENTS_LIMIT
        return keeps_up and not self._leaving.is_set() and time.monotonic() < self._asked_at + LOST_S  # it still asks

    def _put(self, event: Json) -> None:
        self._events.append(event)
        self._wake.set()

    def _end(self) -> None:
        self._over = True
        self._wake.set()


class SidebandHost:
    """The programs of other processes that follow calls of this one."""

    def __init__(self) -> None:
        self._programs: dict[str, HostedProgram] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, handle: SessionHandle, program_id: str) -> None:
        """Let a program follow the call of `handle`. Raises the errors of `open_sideband`."""
        program = HostedProgram(handle.open_sideband)
        await program.open()
        self._programs[program_id] = program
        start_among(self._tasks, "program of another process", self._serve(program_id, program))

    def find(self, program_id: str) -> HostedProgram:
        """Return a program that follows a call. Raises `NotFound`."""
        if program_id not in self._programs:
            raise NotFound("This program follows no call.", hint="Connect again.")
        return self._programs[program_id]

    async def stop(self) -> None:
        """Let all programs go."""
        await cancel_all(self._tasks)

    async def _serve(self, program_id: str, program: HostedProgram) -> None:
        try:
            await program.serve()
        finally:
            del self._programs[program_id]
