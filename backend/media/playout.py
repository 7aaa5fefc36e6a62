"""The playout: the queue of reply audio to the caller, from which the media clock takes a frame every 20 ms.

Theory. The provider sends audio much faster than it is heard, in pieces of any length; the caller gets exactly 50
frames a second. In between, the call must be able to turn playback down or hold it within a frame, and to go on without
losing a sample. It must be able to discard the queue, to know to the sample how much was heard, and to restore it. So:

- items (one per reply) play first in, first out; a frame may end one and begin the next;
- `played_ms` counts real samples, never padding, and an item's count survives running dry in between;
- a last piece shorter than a frame waits one tick for more (so that a stream that is only just fast enough is not torn
  apart in mid-word), then it is padded with silence and played;
- while playback is held, no sample is played and no event comes;
- while it is ducked, it is `DUCK_DB` lower: the level falls within the next frame, so that it is down at most 40 ms
  after the call (20 ms until the frame is due and 20 ms of slope), and comes back within four frames, without a click;
- audio that a flush drops is kept for `restore` until other audio is queued: at most one queue a call;
- `PlaybackDrained` means that the queue ran empty by playing; a flush never causes it.

Pulling touches only the pieces at the front: constant work a tick, however much is queued.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, Frame, milliseconds
from backend.turns.events import Heard, PlaybackDrained, PlaybackEvent, PlaybackStarted

REMEMBERED_ITEMS = 16
"""The most items with a played time that is kept after their last sample, in case more of them arrives."""
DUCK_DB = 15.0
"""Decibels by which a ducked reply is turned down."""
DUCK_FRAMES = 1
"""Frames in which the level falls: 20 ms."""
UNDUCK_FRAMES = 4
"""Frames in which the level rises again: 80 ms."""

_DUCKED = 10 ** (-DUCK_DB / 20)
_FALL = (1.0 - _DUCKED) / DUCK_FRAMES
_RISE = (1.0 - _DUCKED) / UNDUCK_FRAMES
_SLOPE = np.arange(1, FRAME_BYTES // 2 + 1, dtype=np.float32) / (FRAME_BYTES // 2)
"""The position of each sample on the slope from one frame's level to the next, from just above 0 to 1."""


OnPlayed = Callable[[Frame | None], object]
"""Called from within `pull` with the frame that is sent in that slot; None for silence."""


class _Queue(NamedTuple):
    """The audio that `flush` dropped."""

    pieces: deque[tuple[str, bytes]]
    offset: int
    queued: int
    odd: tuple[str, bytes] | None


class Playout:
    """One caller's queue. Not thread-safe: everything happens on the event loop."""

    def __init__(self, limit_ms: int = 300_000, on_playback: Callable[[PlaybackEvent], None] | None = None) -> None:
        """Keep at most `limit_ms` of audio; `on_playback` is called from within `pull`."""
        self.on_playback = on_playback
        self.on_played: OnPlayed | None = None
        """The function that is called with the frame of each slot; None: no function."""
        self._limit = limit_ms * BYTES_PER_MS
        self._pieces: deque[tuple[str, bytes]] = deque()
        self._offset = 0  # bytes of the first piece already played
        self._queued = 0  # bytes not yet played
        self._odd: tuple[str, bytes] | None = None  # half a sample, waiting for its other half
        self._played: dict[str, int] = {}  # bytes of each item played, in the order they began
        self._held = False
        self._waited = False  # whether a last short piece has had its tick
        self._gain = self._wanted_gain = 1.0  # what the last frame ended with, and where the next ones go
        self._full = True  # whether both are 1: then no sample is touched
        self._flushed: _Queue | None = None
        self._restored: str | None = None  # the item that starts once more

    @property
    def queued_ms(self) -> int:
        """Milliseconds not yet played."""
        return milliseconds(self._queued)

    def push(self, item: str, pcm: bytes) -> bool:
        """Queue 24 kHz mono PCM16 of `item`, any length; if it would exceed the limit, drop it and return False."""
        if self._queued + len(pcm) > self._limit:
            return False
        pcm = self._whole_samples(item, pcm)
        if pcm:
            self._pieces.append((item, pcm))
            self._queued += len(pcm)
            self._flushed = None
        return True

    def pull(self) -> Frame | None:
        """Return the next 20 ms; None for silence. Call this once in each slot."""
        frame = self._next()
        if self.on_played is not None:
            self.on_played(frame)
        return frame

    def hold(self) -> None:
        """Play silence from the next slot on, and keep the queue."""
        self._held = True

    def resume(self) -> None:
        """Resume where `hold` stopped."""
        self._held = False

    def duck(self) -> None:
        """Play on `DUCK_DB` lower from the next slot on."""
        self._set_level(_DUCKED)

    def unduck(self) -> None:
        """Return to full volume, within `UNDUCK_FRAMES` slots."""
        self._set_level(1.0)

    def flush(self) -> tuple[Heard, ...]:
        """Drop the queue and end a hold or a ducking; return, oldest first, each item not played to its end.

        The dropped audio is kept for `restore`. A flush of an empty queue keeps the audio of the flush before.
        """
        unfinished = dict.fromkeys(item for item, _ in self._pieces)
        heard = tuple(Heard(item, milliseconds(self._played.get(item, 0))) for item in unfinished)
        if self._pieces:
            self._flushed = _Queue(self._pieces, self._offset, self._queued, self._odd)
            self._pieces = deque()
        self._offset = self._queued = 0
        self._odd = self._restored = None
        self._held = self._waited = False
        self._set_level(1.0)
        return heard

    def restore(self) -> bool:
        """Queue what the last flush dropped, from the very sample where it stopped; its item starts once more.

        Return False if nothing was dropped, other audio was queued since, or it was restored or forgotten already.
        """
        if self._flushed is None:
            return False
        self._pieces, self._offset, self._queued, self._odd = self._flushed
        self._flushed = None
        first = self._pieces[0][0]
        self._restored = first if first in self._played else None
        return True

    def forget(self) -> None:
        """Release the audio that the last flush dropped, which will not be restored."""
        self._flushed = None

    def _set_level(self, wanted: float) -> None:
        """Let the next frames slope to the level `wanted`; with an empty queue, set it immediately."""
        self._wanted_gain = wanted
        if not self._queued:
            self._gain = wanted
        self._full = self._gain == wanted == 1.0

    def _at_level(self, frame: bytes) -> bytes:
        """Return the frame at the present level, sloping towards the wanted one."""
        before, wanted = self._gain, self._wanted_gain
        samples = np.frombuffer(frame, dtype="<i2")
        if before == wanted:
            return (samples * np.float32(wanted)).astype("<i2").tobytes()
        after = max(wanted, before - _FALL) if wanted < before else min(wanted, before + _RISE)
        if abs(after - wanted) < 1e-6:  # steps of a third or a quarter do not add up exactly
            after = wanted
        self._gain = after
        self._full = after == wanted == 1.0
        return (samples * (np.float32(before) + np.float32(after - before) * _SLOPE)).astype("<i2").tobytes()

    def _next(self) -> Frame | None:
        """Return the next 20 ms; None if nothing is queued, playback is held, or a short piece waits for more."""
        if self._held or not self._queued:
            return None
        if self._queued < FRAME_BYTES and not self._waited:
            self._waited = True
            return None
        self._waited = False
        news: list[PlaybackEvent] = []
        frame = self._take(min(FRAME_BYTES, self._queued), news)
        if self.on_playback is not None:
            for event in news:
                self.on_playback(event)
        if len(frame) != FRAME_BYTES:
            frame = frame.ljust(FRAME_BYTES, b"\0")
        return Frame(frame if self._full else self._at_level(frame))

    def _whole_samples(self, item: str, pcm: bytes) -> bytes:
        """Put the half sample that the last push left before this one, and keep a new half back."""
        if self._odd is not None:
            if self._odd[0] == item:
                pcm = self._odd[1] + pcm
            self._odd = None
        if len(pcm) % 2:
            self._odd = (item, pcm[-1:])
            pcm = pcm[:-1]
        return pcm

    def _take(self, size: int, news: list[PlaybackEvent]) -> bytes:
        """Return the next `size` bytes (at least one, at most what is queued), counted as played."""
        parts: list[bytes] = []
        while size:
            item, piece = self._pieces[0]
            part = piece[self._offset : self._offset + size]
            parts.append(part)
            size -= len(part)
            self._offset += len(part)
            self._queued -= len(part)
            if self._offset == len(piece):
                self._pieces.popleft()
                self._offset = 0
            if item not in self._played:
                self._played[item] = 0
                if len(self._played) > REMEMBERED_ITEMS:
                    del self._played[next(iter(self._played))]
                news.append(PlaybackStarted(item))
            elif item == self._restored:
                news.append(PlaybackStarted(item))
            self._restored = None
            self._played[item] += len(part)
        if not self._queued:
            news.append(PlaybackDrained(item, milliseconds(self._played[item])))
        return parts[0] if len(parts) == 1 else b"".join(parts)
