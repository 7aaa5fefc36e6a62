"""Recognition by a pool of processes, begun while the caller still speaks.

    feed ──► quiet for a moment, or a second more was said ──► decode all since the last settled piece ──► partial
    commit ──► decode what nothing has covered, often nothing ──► the final transcript

What was decoded last is a draft for what is decoded next (`moonshine_model.py`), and what was decoded in a pause is the
final transcript when nothing but silence has followed. A long utterance is settled piece by piece in its pauses, so
that neither the time after the commit nor the memory grows with its length.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from time import monotonic

from backend.extensions.local.recognition.jobs import AudioJob, RecognizedWords, decode_heard, encode
from backend.extensions.local.recognition.pauses import PauseTracker
from backend.extensions.local.speech_pool import SpeechPool, SpeechPoolFailed
from backend.media.frame import BYTES_PER_MS, FRAME_BYTES
from backend.runtime.supervisor import cancel_all

log = logging.getLogger(__name__)

PAUSE_MS = 100
"""A quiet moment after which what was said so far is decoded: the caller may have ended."""
TAIL_MS = 60
"""Quiet audio behind the last sound that a decoded part must hold, to cover it."""
MORE_MS = 600
"""Milliseconds after which audio is decoded without any pause, for the words to be seen while they are said. Such a run
is spare work: it begins where a process has nothing else to do, and gives way immediately to a final run."""
REST = 2.0
"""A spare run waits so many times as long as the last one took, which bounds what it costs to a third of a core."""
SETTLE_MS, SETTLE_PAUSE_MS = 6000, 240
"""The lengths of a part and of the pause that settles it; later audio is decoded without it."""
LONGEST_MS = 14_000
"""A part longer than this is cut at its quietest place; the encoder's work grows with the square of its length."""
EARLIEST_CUT_MS = 5000


class PooledRecognizer:
    """A recognizer with its engine in the processes of `pool`. `name` is what the page shows."""

    def __init__(self, name: str, pool: SpeechPool) -> None:
        self.name = name
        self._pool = pool

    def __repr__(self) -> str:
        return f"PooledRecognizer({self.name}, {self._pool!r})"

    def start(self) -> PooledUtterance:
        """Begin an utterance."""
        return PooledUtterance(self._pool)


@dataclass(frozen=True, slots=True)
class _DecodedAudio:
    """The first `length` bytes of what is not settled, decoded."""

    length: int
    heard: RecognizedWords
    is_spare: bool = False
    """Decoded quickly, for the page: never final."""


class PooledUtterance:
    """The sound that is appended between two commits."""

    def __init__(self, pool: SpeechPool) -> None:
        self._pool = pool
        self._expected: tuple[str, ...] = ()
        self._pcm = bytearray()
        self._pauses = PauseTracker()
        self._settled: list[str] = []
        self._decoded = _DecodedAudio(0, RecognizedWords())
        self._decoding: asyncio.Task[None] | None = None
        self._decoding_length = 0
        self._decoding_spare = False
        self._not_before = 0.0
        self._over = False
        self._changed = asyncio.Event()
        self._agreed = ""
        self._least = 0.0

    def __repr__(self) -> str:
        return f"PooledUtterance({len(self._pcm) // BYTES_PER_MS} ms, {self._pauses!r})"

    def expect(self, phrases: tuple[str, ...]) -> None:
        """Expect it to be one of these phrases, if it is brief; nothing to begin with."""
        self._expected = phrases

    def feed(self, pcm: bytes) -> None:
        """Take 24 kHz mono PCM16, and decode it where that is due; never blocks."""
        if self._over:
            return
        self._pcm += pcm
        self._pauses.feed(pcm)
        if self._is_free() and self._is_due():
            if self._decoding:
                self._decoding.cancel()
            self._decoding_length = len(self._pcm)
            self._decoding_spare = not self._is_paused()
            self._decoding = asyncio.create_task(self._decode_early(), name="utterance decodes early")

    async def partials(self) -> AsyncIterator[str]:
        """Yield the words that two decodings in a row agree on, each time there are more."""
        last = ""
        while not self._over:
            if len(self._agreed) > len(last):
                last = self._agreed
                yield last
            self._changed.clear()
            if not self._over:
                await self._changed.wait()

    async def finish(self) -> str:
        """Decode what is not decoded, and return all of it; '' when nothing was said. Raises `SpeechPoolFailed`."""
        try:
            await self._end_early_decoding()
            while len(self._pcm) > LONGEST_MS * BYTES_PER_MS:
                await self._settle_until(self._cut())
            if not self._is_decoded():
                self._decoded = await self._decode(len(self._pcm)) or _DecodedAudio(len(self._pcm), RecognizedWords())
            return self._text()
        finally:
            self._end()

    @property
    def log_probability(self) -> float:
        """How sure the recognizer is of its least certain part; 0 where it does not say."""
        return min(self._least, self._decoded.heard.log_probability)

    @property
    def others(self) -> Sequence[tuple[str, float]]:
        """Other transcripts that sound nearly as likely, with how much less: the difference of log-probabilities."""
        return [(" ".join((*self._settled, text)), less) for text, less in self._decoded.heard.others]

    def cancel(self) -> None:
        """Give the utterance up. Safe to call twice, and after `finish`."""
        if self._decoding:
            self._decoding.cancel()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._changed.set()

    def _take(self, part: _DecodedAudio) -> None:
        """Keep what was decoded, and note what it has in common with what was decoded before."""
        before, self._decoded = self._text(), part
        pairs = zip(before.split(), self._text().split(), strict=False)
        same = " ".join(new for old, new in itertools.takewhile(lambda pair: _word(pair[0]) == _word(pair[1]), pairs))
        if same.startswith(self._agreed):
            self._agreed = same
        self._changed.set()

    def _text(self) -> str:
        return " ".join(each for each in (*self._settled, self._decoded.heard.text) if each)

    def _is_covered(self, length: int) -> bool:
        """Return whether the first `length` bytes hold all that was said."""
        voice_end = self._pauses.voice_end
        return not voice_end or length >= min(voice_end + TAIL_MS * BYTES_PER_MS, len(self._pcm))

    def _is_decoded(self) -> bool:
        """Return whether what was decoded last holds all that was said, and may be final."""
        return not self._decoded.is_spare and self._is_covered(self._decoded.length)

    def _is_free(self) -> bool:
        """Return whether a decoding may begin: none is under way, or in a pause one that cannot be final."""
        if self._decoding is None:
            return True
        return self._is_paused() and (self._decoding_spare or not self._is_covered(self._decoding_length))

    def _is_due(self) -> bool:
        nothing_new = self._pauses.voice_end <= self._decoded.length and not self._decoded.is_spare
        if not self._pauses.voice_end or nothing_new or self._is_decoded():
            return self._is_to_settle()
        if self._is_paused():
            return True
        more_ms = (len(self._pcm) - self._decoded.length) // BYTES_PER_MS
        sounds = self._pauses.quiet_ms == 0
        return sounds and more_ms >= MORE_MS and monotonic() >= self._not_before and self._pool.idle

    def _is_paused(self) -> bool:
        return self._pauses.quiet_ms >= PAUSE_MS

    def _is_to_settle(self) -> bool:
        long_enough = self._decoded.length >= SETTLE_MS * BYTES_PER_MS
        return long_enough and not self._decoded.is_spare and self._pauses.quiet_ms >= SETTLE_PAUSE_MS

    async def _decode_early(self) -> None:
        began = monotonic()
        try:
            if self._is_to_settle():
                self._settle(self._decoded)
            elif len(self._pcm) > LONGEST_MS * BYTES_PER_MS:
                await self._settle_until(self._cut())
            elif part := await self._decode(self._decoding_length, spare=self._decoding_spare):
                self._take(part)
        except SpeechPoolFailed as error:
            log.warning("a part of an utterance was not decoded early: %s", error)
        finally:
            now = monotonic()
            self._not_before = now + REST * (now - began)
            if self._decoding is asyncio.current_task():
                self._decoding = None

    async def _end_early_decoding(self) -> None:
        """Wait for the decoding if nothing else is needed; otherwise give it up."""
        if (task := self._decoding) is None:
            return
        if (
            not self._decoding_spare
            and self._is_covered(self._decoding_length)
            and len(self._pcm) <= LONGEST_MS * BYTES_PER_MS
        ):
            await asyncio.wait({task})
        else:
            await cancel_all([task])

    async def _decode(self, length: int, *, spare: bool = False) -> _DecodedAudio | None:
        """Return the words of the first `length` bytes; None if a spare run gave way."""
        hearing = AudioJob(bytes(self._pcm[:length]), self._decoded.heard.tokens, None if spare else self._expected)
        pieces = [piece async for piece in self._pool.run(encode(hearing), spare=spare)]
        return _DecodedAudio(length, decode_heard(pieces[-1]), spare) if pieces else None

    async def _settle_until(self, cut: int) -> None:
        self._settle(await self._decode(cut) or _DecodedAudio(cut, RecognizedWords()))

    def _settle(self, part: _DecodedAudio) -> None:
        """Keep the words of a part, and forget its audio."""
        length = part.length - part.length % FRAME_BYTES
        if part.heard.text:
            self._settled.append(part.heard.text)
            self._least = min(self._least, part.heard.log_probability)
        del self._pcm[:length]
        self._pauses.forget(length)
        self._decoded = _DecodedAudio(0, RecognizedWords())

    def _cut(self) -> int:
        begin, end = EARLIEST_CUT_MS * BYTES_PER_MS, LONGEST_MS * BYTES_PER_MS
        return self._pauses.quietest(begin, end)


def _word(word: str) -> str:
    return word.strip(".,?!;:").lower()
