"""Frames on their way from the wire to the session: bounded, and ended once, in order or with an error."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable

from backend.audio.frame import Frame
from backend.errors import TransportLost

INBOX_FRAMES = 50
"""One second. A session that falls further behind hears the newest second rather than an ever older one."""


class Inbox:
    """A queue of frames for one reader."""

    def __init__(self, limit: int = INBOX_FRAMES) -> None:
        self._frames: deque[Frame] = deque()
        self._limit = limit
        self._ended = False
        self._error: TransportLost | None = None
        self._reader: asyncio.Future[None] | None = None  # who waits for a frame; a bare future costs half an Event
        self._room = asyncio.Event()
        self.dropped = 0

    def __repr__(self) -> str:
        return f"Inbox({len(self)} frames{', ended' if self._ended else ''}, {self.dropped} dropped)"

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def ended(self) -> bool:
        """Whether nothing more can be put in."""
        return self._ended

    def put(self, frames: Iterable[Frame]) -> None:
        """Add frames; the oldest fall out when it is full. After the end they are dropped."""
        if self._ended:
            return
        self._frames.extend(frames)
        while len(self._frames) > self._limit:
            self._frames.popleft()
            self.dropped += 1
        if self._frames:
            self._wake()

    async def room(self) -> None:
        """Wait until the reader has caught up (for wires that can be made to wait)."""
        while self._frames and not self._ended:
            self._room.clear()
            await self._room.wait()

    def end(self, error: TransportLost | None = None) -> None:
        """No more frames: the reader gets what is queued, then the end or `error`. The first call counts."""
        if self._ended:
            return
        self._ended = True
        self._error = error
        self._wake()
        self._room.set()

    def close(self) -> None:
        """End at once: what is queued is forgotten."""
        self._frames.clear()
        self._error = None
        self.end()
        self._wake()

    async def read(self) -> AsyncIterator[Frame]:
        """The frames, oldest first. Raises the error it was ended with."""
        while True:
            while self._frames:
                frame = self._frames.popleft()
                self._room.set()
                yield frame
            if self._ended:
                break
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
