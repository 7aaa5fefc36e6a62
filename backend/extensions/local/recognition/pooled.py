"""Recognition by a pool of processes begins while the caller still speaks.

    feed ──► quiet for a moment, or a second more was said ──► decode all since the last settled piece ──► partial
    commit ──► decode what nothing has covered, often nothing ──► the final transcript

The last words decoded are a draft for the next decoding (`moonshine_model.py`). The words decoded in a pause are the
final transcript if only silence has followed. A long utterance is settled piece by piece in its pauses, so that neither
the time after the commit nor the memory grows with its length.
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
"""The quiet milliseconds after which the audio so far is decoded: the caller may have ended."""
TAIL_MS = 60
"""The quiet milliseconds after the last sound that a decoded part must hold in order to cover it."""
MORE_MS = 600
"""The milliseconds after which audio is decoded without a pause, so that the page shows words while they are said. Such
a run is spare work: it begins if a process is idle, and gives way immediately to a final run."""
REST = 2.0
"""The wait before a spare run, in durations of the last one. It limits spare work to a third of a core."""
SETTLE_MS, SETTLE_PAUSE_MS = 6000, 240
"""The milliseconds of a part and of the pause that settles it; later audio is decoded without that part."""
LONGEST_MS = 14_000
"""The milliseconds from which a part is cut at its quietest place: the encoder's work grows with their square."""
EARLIEST_CUT_MS = 5000


class PooledRecognizer:
    """A recognizer with its engine in the processes of `pool`. The page shows `name`."""

    def __init__(self, name: str, pool: SpeechPool) -> None:
        self.name = name
        self._pool = pool

    def start(self) -> PooledUtterance:
        """Begin an utterance."""
        return PooledUtterance(self._pool)


@dataclass(frozen=True, slots=True)
class _DecodedAudio:
    """The words of the first `length` bytes that are not settled."""

    length: int
    heard: RecognizedWords
    is_spare: bool = False
    """The audio was decoded quickly, for the page; the words are never final."""


class PooledUtterance:
    """The recognition of the sound between two commits."""

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

    def expect(self, phrases: tuple[str, ...]) -> None:
        """Expect one of these phrases if the utterance is brief. At first, no phrase is expected."""
        self._expected = phrases

    def feed(self, pcm: bytes) -> None:
        """Take 24 kHz mono PCM16, and begin to decode it if that is due. It never blocks."""
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
        """Decode the rest, and return the whole transcript; '' if nothing was said. Raises `SpeechPoolFailed`."""
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
        """Return the log-probability of the least certain part; 0 if the recognizer does not report it."""
        return min(self._least, self._decoded.heard.log_probability)

    @property
    def others(self) -> Sequence[tuple[str, float]]:
        """Return other transcripts that sound nearly as likely, each with its difference of log-probabilities."""
        return [(" ".join((*self._settled, text)), less) for text, less in self._decoded.heard.others]

    def cancel(self) -> None:
        """Give up the utterance. Safe to call twice, and after `finish`."""
        if self._decoding:
            self._decoding.cancel()
        self._end()

    def _end(self) -> None:
        self._over = True
        self._changed.set()

    def _take(self, part: _DecodedAudio) -> None:
        """Keep the decoded words, and note the words that they have in common with those before."""
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
        """Return whether the last decoded words hold all that was said, and may be final."""
        return not self._decoded.is_spare and self._is_covered(self._decoded.length)

    def _is_free(self) -> bool:
        """Return whether a decoding may begin: none is running, or, in a pause, only one that cannot be final."""
        if self._decoding is None:
            return True
        return self._is_paused() and (self._decoding_spare or not self._is_covered(self._decoding_length))  # not final

    def _is_due(self) -> bool:
        nothing_new = self._pauses.voice_end <= self._decoded.length and not self._decoded.is_spare
        if not self._pauses.voice_end or nothing_new or self._is_decoded():  # all speech is decoded
            return self._is_to_settle()
        if self._is_paused():
            return True
        more_ms = (len(self._pcm) - self._decoded.length) // BYTES_PER_MS
        sounds = self._pauses.quiet_ms == 0  # in speech, only spare work is due
        return sounds and more_ms >= MORE_MS and monotonic() >= self._not_before and self._pool.idle

    def _is_paused(self) -> bool:
        return self._pauses.quiet_ms >= PAUSE_MS

    def _is_to_settle(self) -> bool:
        long_enough = self._decoded.length >= SETTLE_MS * BYTES_PER_MS  # words for the page are never settled
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
        """Wait for the running decoding if its words will be final; otherwise stop it."""
        if (task := self._decoding) is None:
            return
        if (  # it will be final, and it holds all that was said, in one part
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
        """Keep the words of a part, and drop its audio."""
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
