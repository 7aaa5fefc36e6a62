"""Programs beside a client that reached another process than its call did: events by a stream, everything else by RPC.

    program  ──WebSocket──  RemoteSideband  ──RPC──►  SidebandHost  ──  the call
                                            ◄─stream──

Either side notices within `LOST_S` that the other is gone: the program's side asks every `RENEW_S`. While Redis is away
events wait, up to a bound; then the program is given up, and connects again.

    fleet:program:{id}     stream: server events as JSON, in order; an empty one is the end
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from redis.asyncio import Redis

from backend.errors import MemoryUnavailable, NotFound, VoiceError
from backend.extensions.cluster.rpc import AWAY, Rpc
from backend.runtime.json_objects import Json
from backend.runtime.supervisor import cancel_all, event_or_timeout, start_among
from backend.sessions.handles import LocalHandle
from backend.sessions.sideband import Send, Sideband
from backend.storage.client import RedisClient

RENEW_S = 4.0
"""Seconds between two signs of life of a program."""
LOST_S = 12.0
"""Seconds without a sign after which the other side counts as gone."""
GATHER_S = 0.02
"""Seconds for which events gather before they are written together."""
RETRY_S = 0.5
"""Seconds between two attempts while Redis does not answer."""
EVENTS_LIMIT = 2_000
"""Events that may wait for Redis, or for the program's process."""
STREAM_TTL_S = 30
"""Seconds a stream outlasts its last event."""

Ask = Callable[..., Awaitable[Any]]
"""Calls a method of the call's process, as `RemoteHandle.ask` does."""


class RemoteSideband(Sideband):
    """A program of this process that follows a call of another one."""

    def __init__(self, ask: Ask, rpc: Rpc, send: Send) -> None:
        """`send` is given the call's events once `open` has returned."""
        self._ask = ask
        self._rpc = rpc
        self._send = send
        self._id = secrets.token_hex(12)
        self._ended = asyncio.Event()

    def __repr__(self) -> str:
        return f"RemoteSideband({self._id[:6]}…{', over' if self._ended.is_set() else ''})"

    async def open(self) -> RemoteSideband:
        """Begin to follow. Raises what `LocalHandle.open_sideband` does, or `MemoryUnavailable`."""
        await self._ask("sideband_open", program=self._id)
        with suppress(*AWAY):  # the read that goes on anyway finds the stream
            await self._rpc.follow(_key(self._id), 0, self._on_entry)
        return self

    async def receive(self, text: str) -> None:
        await self._ask("sideband_receive", program=self._id, text=text)

    async def over(self) -> None:
        answered_at = time.monotonic()
        while True:
            await event_or_timeout(self._ended, RENEW_S)
            if self._ended.is_set():
                return
            try:
                await self._ask("sideband_renew", program=self._id)
                answered_at = time.monotonic()
            except MemoryUnavailable:
                if time.monotonic() > answered_at + LOST_S:
                    return
            except VoiceError:
                return

    async def leave(self) -> None:
        self._rpc.unfollow(_key(self._id))
        with suppress(VoiceError):
            await self._ask("sideband_leave", program=self._id)

    def _on_entry(self, _: int, content: bytes) -> None:
        if content:
            self._send(msgspec.json.decode(content))
        else:
            self._ended.set()


class HostedProgram:
    """A program of another process that follows a call of this one."""

    def __init__(self, program_id: str) -> None:
        self.id = program_id
        self.sideband: Sideband | None = None
        self.waiting: deque[tuple[int, bytes]] = deque()
        """Events to write, each with its number."""
        self.wake = asyncio.Event()
        self._number = 0
        self._renewed_at = time.monotonic()
        self._ended = False

    def __repr__(self) -> str:
        return f"HostedProgram({self.id[:6]}…, {len(self.waiting)} events to write)"

    @property
    def is_followed(self) -> bool:
        """Return whether the other side still reads."""
        return not self._ended and time.monotonic() < self._renewed_at + LOST_S and len(self.waiting) <= EVENTS_LIMIT

    async def receive(self, text: str) -> None:
        """Carry out an event of the program's."""
        assert self.sideband is not None
        await self.sideband.receive(text)

    def send(self, event: Json) -> None:
        """Send the program an event of the call's."""
        if len(self.waiting) <= EVENTS_LIMIT:
            self._append(msgspec.json.encode(event))

    def renew(self) -> None:
        """Note that the program is still there."""
        self._renewed_at = time.monotonic()

    def end(self) -> None:
        """End the program's following."""
        if not self._ended:
            self._ended = True
            self._append(b"")

    def _append(self, content: bytes) -> None:
        self._number += 1
        self.waiting.append((self._number, content))
        self.wake.set()


class SidebandHost:
    """The programs of other processes that follow calls of this one."""

    def __init__(self, redis: Redis) -> None:
        self._client = RedisClient(redis)
        self._programs: dict[str, HostedProgram] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"SidebandHost({len(self._programs)} programs)"

    async def open(self, handle: LocalHandle, program_id: str) -> None:
        """Let a program follow the call of `handle`. Raises what `open_sideband` does."""
        program = HostedProgram(program_id)
        program.sideband = await handle.open_sideband(program.send)
        self._programs[program_id] = program
        start_among(self._tasks, "sideband of another process", self._serve(program, program.sideband))

    def find(self, program_id: str) -> HostedProgram:
        """Return a program that follows. Raises `NotFound`."""
        if program_id not in self._programs:
            raise NotFound("This program follows no call.", hint="Connect again.")
        return self._programs[program_id]

    async def stop(self) -> None:
        """Let all programs go."""
        await cancel_all(self._tasks)

    async def _serve(self, program: HostedProgram, sideband: Sideband) -> None:
        over = asyncio.create_task(sideband.over(), name="sideband")
        over.add_done_callback(lambda _: program.end())
        try:
            while program.is_followed:
                await event_or_timeout(program.wake, RENEW_S)
                await asyncio.sleep(GATHER_S)
                await self._write(program)
            program.end()
            await self._write(program)
        finally:
            del self._programs[program.id]
            await sideband.leave()
            await cancel_all([over])

    async def _write(self, program: HostedProgram) -> None:
        program.wake.clear()
        events = list(program.waiting)
        if not events:
            return
        pipe = self._client.pipeline(transaction=False)
        for number, content in events:
            pipe.xadd(_key(program.id), {"v": content}, id=f"{number}-0", maxlen=EVENTS_LIMIT, approximate=True)
        pipe.expire(_key(program.id), STREAM_TTL_S)
        try:  # what a lost answer makes us write twice is refused the second time: its number is not higher
            await self._client.call(lambda _: pipe.execute(raise_on_error=False))
        except MemoryUnavailable:
            await asyncio.sleep(RETRY_S)
            program.wake.set()
        else:
            for _ in events:
                program.waiting.popleft()


def _key(program_id: str) -> str:
    return f"fleet:program:{program_id}"
