"""Frames on their way from the wire to whoever hears them: handed on at once, ended once, in order or with an error."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from backend.errors import TransportLost
from backend.media.frame import Frame
from backend.transports.base import Ear

INBOX_FRAMES = 50
"""One second. Who comes later than that hears the newest second rather than an ever older one."""


class Inbox:
    """What one ear at a time is given; while nobody hears, the newest frames are kept."""

    def __init__(self, limit: int = INBOX_FRAMES) -> None:
        self._kept: deque[Frame] = deque()
        self._limit = limit
        self._ear: Ear | None = None
        self._over: asyncio.Future[None] | None = None  # what `hear` waits for
        self._error: TransportLost | None = None
        self._room = asyncio.Event()
        self.dropped = 0
        self.ended = False
        """Whether nothing more can be put in."""

    def __repr__(self) -> str:
        return f"Inbox({len(self)} frames{', ended' if self.ended else ''}, {self.dropped} dropped)"

    def __len__(self) -> int:
        return len(self._kept)

    async def hear(self, ear: Ear) -> None:
        """Give `ear` what is kept, then every frame as it is put in. Returns at the end, or raises what it ended with.

        Raises what `ear` raises, too.
        """
        while self._kept:
            ear(self._kept.popleft())
        self._room.set()
        if not self.ended:
            self._over = asyncio.get_running_loop().create_future()
            self._ear = ear
            try:
                await self._over
            finally:
                self._ear = None
        if self._error is not None:
            raise self._error

    def put(self, frames: Iterable[Frame]) -> None:
        """Have frames heard, or keep the newest: the oldest fall out when it is full. After the end all are dropped."""
        if self.ended:
            return
        if (ear := self._ear) is None:
            self._keep(frames)
            return
        try:
            for frame in frames:
                ear(frame)
        except Exception as error:  # noqa: BLE001 - `hear` raises it
            self._let_go(error)

    async def room(self) -> None:
        """Wait until everything has been heard (for wires that can be made to wait)."""
        while self._kept and not self.ended:
            self._room.clear()
            await self._room.wait()

    def end(self, error: TransportLost | None = None) -> None:
        """No more frames: who hears is given what is kept, then the end or `error`. The first call counts."""
        if self.ended:
            return
        self.ended = True
        self._error = error
        self._let_go()
        self._room.set()

    def close(self) -> None:
        """End at once: what is kept is forgotten."""
        self._kept.clear()
        self._error = None
        self.end()

    def _keep(self, frames: Iterable[Frame]) -> None:
        self._kept.extend(frames)
        while len(self._kept) > self._limit:
            self._kept.popleft()
            self.dropped += 1

    def _let_go(self, error: Exception | None = None) -> None:
        """Who hears goes on, with `error` if there is one."""
        self._ear = None
        if self._over is None or self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)
