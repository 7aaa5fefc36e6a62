"""The utterance tap keeps the caller's latest speech, to classify it while a reply plays or a turn may end.

It keeps frames by reference, and no more than a short utterance has. A reading or an estimate is a task of its own: the
audio path does not wait for it, and the turn machine ignores an answer that comes too late.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from backend.media.frame import FRAME_MS, Frame
from backend.runtime.supervisor import cancel_all, start_among
from backend.turns import events as ev
from backend.turns.utterances import UtteranceKind

LONGEST_MS = 2000
"""The longest audio of a short utterance, in milliseconds; longer audio is not classified."""
KEPT_FRAMES = LONGEST_MS // FRAME_MS + 1
"""The most frames that are kept: a short utterance with its pre-roll and pause, and one frame more."""
AT_ONCE = 4
"""The most readings and estimates of one call at the same time; further ones get no answer."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The answer of an utterance classifier: the kind of an utterance, and its words."""

    kind: UtteranceKind
    words: str = ""
    """The phrase that was recognised; empty for noise and for other words."""


class Reader(Protocol):
    """An utterance classifier. No method raises; None means that there was no answer in time."""

    def begin(self) -> None:
        """Get ready for a call that has begun, without waiting."""

    async def read(self, pcm: bytes) -> Reading | None:
        """Return the kind and the words of an utterance in 24 kHz mono PCM16."""

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
        """Begin to keep audio at an onset, and stop at the end of the speech."""
        if self._reader and isinstance(event, ev.SpeechStarted):
            self._frames = []
            self.recording = True
        elif isinstance(event, ev.SpeechStopped):
            self.recording = False

    def on_frame(self, frame: Frame) -> None:
        """Keep a frame of the present speech, while `recording`."""
        self._frames.append(frame)
        self.recording = len(self._frames) < KEPT_FRAMES

    def read(self, partial: bool) -> None:
        """Start to classify the speech since the onset; `UtteranceRead` follows."""
        if self._reader:
            self._begin(self._read(self._reader, b"".join(self._frames), partial))

    def estimate(self, words: str) -> None:
        """Start to estimate whether a sentence ends after `words`; `SentenceEndEstimated` may follow."""
        if self._reader:
            self._begin(self._estimate(self._reader, words))

    async def close(self) -> None:
        """Stop the readings and estimates that are under way."""
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
