"""The utterance tap keeps the caller's latest speech at hand, to have it read while a reply plays or a turn may end.

The audio is kept by reference, and only as much of it as a short utterance has. A reading or an estimate is a task of
its own: whatever it takes, the audio path does not wait for it, and an answer that comes too late finds that the turn
machine has decided without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from backend.media.frame import FRAME_MS, Frame
from backend.runtime.supervisor import cancel_all, start_among
from backend.turns import events as ev
from backend.turns.utterances import UtteranceKind

LONGEST_MS = 2000
"""Audio beyond this is no short utterance, and is not read."""
KEPT_FRAMES = LONGEST_MS // FRAME_MS + 1
"""The longest utterance that is read, with its pre-roll and the pause after it; one more, and it is none."""
AT_ONCE = 4
"""Readings and estimates of one call at the same time; further ones have no answer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The classes of an utterance."""

    kind: UtteranceKind
    words: str = ""
    """The phrase that was recognised; empty for noise and for other words."""


class Reader(Protocol):
    """Reads short utterances. No method raises; None: no answer in time."""

    def begin(self) -> None:
        """Get ready, without waiting: a call has begun."""

    async def read(self, pcm: bytes) -> Reading | None:
        """Return what 24 kHz mono PCM16 says."""

    async def sentence_end(self, words: str) -> float | None:
        """Return the log10 probability that a sentence ends after `words`."""


class UtteranceTap:
    """The latest speech of one call."""

    def __init__(self, reader: Reader | None, dispatch: Callable[[ev.Event], None]) -> None:
        self._reader = reader
        if reader:
            reader.begin()
        self._dispatch = dispatch
        self._frames: list[Frame] = []
        self.recording = False
        """True while audio is kept: from an onset on, for as long as a short utterance lasts."""
        self._tasks: set[asyncio.Task[None]] = set()

    def on_event(self, event: ev.SpeechEvent) -> None:
        """Begin to keep audio at an onset, and stop where the speech is over."""
        if self._reader and isinstance(event, ev.SpeechStarted):
            self._frames = []
            self.recording = True
        elif isinstance(event, ev.SpeechStopped):
            self.recording = False

    def on_frame(self, frame: Frame) -> None:
        """Keep a frame of the speech under way, while `recording`."""
        self._frames.append(frame)
        self.recording = len(self._frames) < KEPT_FRAMES

    def read(self, partial: bool) -> None:
        """Have all that was said since the onset read; `UtteranceRead` follows."""
        if self._reader:
            self._begin(self._read(self._reader, b"".join(self._frames), partial))

    def estimate(self, words: str) -> None:
        """Have it estimated whether a sentence ends after `words`; `SentenceEndEstimated` follows if it can be."""
        if self._reader:
            self._begin(self._estimate(self._reader, words))

    async def close(self) -> None:
        """Stop what is under way."""
        await cancel_all(self._tasks)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        if len(self._tasks) < AT_ONCE:
            start_among(self._tasks, "utterance reading", work)
        else:
            work.close()

    async def _read(self, reader: Reader, pcm: bytes, partial: bool) -> None:
        reading = await reader.read(pcm)
        kind, words = (reading.kind, reading.words) if reading else (None, "")
        self._dispatch(ev.UtteranceRead(kind, words, partial))

    async def _estimate(self, reader: Reader, words: str) -> None:
        if (log10 := await reader.sentence_end(words)) is not None:
            self._dispatch(ev.SentenceEndEstimated(words, log10))
