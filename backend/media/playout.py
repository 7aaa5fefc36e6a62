"""The playout is the queue of reply audio on its way to the caller, emptied by the media clock, a frame each 20 ms.

Theory. The provider sends audio much faster than it is heard, in pieces of any length; the caller gets
exactly 50 frames a second. In between the conversation must be able to fall silent within a frame, go on
without losing a sample, or throw everything away and know to the sample how much was heard. So:

- items (one per reply) play first in, first out; a frame may end one and begin the next;
- `played_ms` counts real samples, never padding, and an item's count survives running dry in between;
- a last piece shorter than a frame waits one tick for more to arrive (a stream that is only just fast enough
  is not torn apart in mid-word), then it is padded with silence and played;
- while held nothing moves: no sample, no event, no waiting;
- `PlaybackDrained` says that the queue ran empty by playing; a flush never causes it.

Pulling touches only the pieces at the front: constant work a tick, however much is queued.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from backend.conversation.events import Heard, PlaybackDrained, PlaybackEvent, PlaybackStarted
from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, Frame, milliseconds

REMEMBERED_ITEMS = 16
"""Items whose played time is kept after their last sample, in case more of them arrives."""


class Playout:
    """One caller's queue. Not thread-safe: everything happens on the event loop."""

    def __init__(self, limit_ms: int = 300_000, on_playback: Callable[[PlaybackEvent], None] | None = None) -> None:
        """Keep at most `limit_ms` of audio; `on_playback` is called from within `pull`."""
        self.on_playback = on_playback
        self._limit = limit_ms * BYTES_PER_MS
        self._pieces: deque[tuple[str, bytes]] = deque()
        self._offset = 0  # bytes of the first piece already played
        self._queued = 0  # bytes not yet played
        self._odd: tuple[str, bytes] | None = None  # half a sample, waiting for its other half
        self._played: dict[str, int] = {}  # bytes of each item played, in the order they began
        self._held = False
        self._waited = False  # whether a last short piece has had its tick

    def __repr__(self) -> str:
        return f"Playout({self.queued_ms} ms in {len(self._pieces)} pieces{', held' if self._held else ''})"

    @property
    def queued_ms(self) -> int:
        """Milliseconds not yet played."""
        return milliseconds(self._queued)

    def push(self, item: str, pcm: bytes) -> bool:
        """Queue 24 kHz mono PCM16 of `item`, any length. False: it would exceed the limit, and is dropped whole."""
        if self._queued + len(pcm) > self._limit:
            return False
        pcm = self._whole_samples(item, pcm)
        if pcm:
            self._pieces.append((item, pcm))
            self._queued += len(pcm)
        return True

    def pull(self) -> Frame | None:
        """Return the next 20 ms, None for silence. Call it once a slot."""
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
        return Frame(frame if len(frame) == FRAME_BYTES else frame.ljust(FRAME_BYTES, b"\0"))

    def hold(self) -> None:
        """Fall silent from the next slot on, keeping what is queued."""
        self._held = True

    def resume(self) -> None:
        """Go on where `hold` stopped."""
        self._held = False

    def flush(self) -> tuple[Heard, ...]:
        """Drop what is queued and end a hold; return, oldest first, each item not played to its end."""
        unfinished = dict.fromkeys(item for item, _ in self._pieces)
        heard = tuple(Heard(item, milliseconds(self._played.get(item, 0))) for item in unfinished)
        self._pieces.clear()
        self._offset = self._queued = 0
        self._odd = None
        self._held = self._waited = False
        return heard

    def _whole_samples(self, item: str, pcm: bytes) -> bytes:
        """Put half a sample left over by the last push before this one, and keep a new half back."""
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
            self._played[item] += len(part)
        if not self._queued:
            news.append(PlaybackDrained(item, milliseconds(self._played[item])))
        return parts[0] if len(parts) == 1 else b"".join(parts)
