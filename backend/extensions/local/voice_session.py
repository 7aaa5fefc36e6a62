"""The speech of one connection passes recognition, dialogue and synthesis, behind the Realtime protocol.

listen, feed, discard ──► an utterance of the recognizer, while the caller speaks
hear                  ──► its final transcript
answer                ──► once every transcript is known: the dialogue's sentences, each spoken when it comes
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from time import monotonic

from backend.extensions.local.engines import Engines
from backend.extensions.local.recognition.pooled import PooledUtterance
from backend.extensions.local.speech_pool import SpeechPoolFailed
from backend.media.frame import BYTES_PER_MS
from backend.realtime.items import Item
from backend.realtime.serving.effects import Order
from backend.realtime.serving.handler import Handler
from backend.realtime.serving.parts import (
    Begin,
    Call,
    End,
    HearingPart,
    ReplyPart,
    ReplySound,
    TranscriptDone,
    TranscriptFailed,
    TranscriptGrew,
    Words,
)
from backend.responders.serving.shell import closing
from backend.turns.utterances import UtteranceKind, phrases

log = logging.getLogger(__name__)

CHUNK_BYTES = 100 * BYTES_PER_MS
"""The bytes of audio in one delta: a tenth of a second."""
SAID_ALONE = tuple(
    phrase.capitalize() + mark
    for kind in (UtteranceKind.AGREEMENT, UtteranceKind.COMMAND)
    for phrase in phrases(kind)
    for mark in ("", ".")
)
"""The most common brief utterances during a reply: murmurs, and words that end it."""
GAP_S = 0.25
"""Seconds without sound after which an utterance starts again: clients send some silence after a commit."""
PUNCTUATION = ".,?!;:"
"""The marks after a word; they may change until another word follows."""


class VoiceSession(Handler):
    """The handler of one connection."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._utterance: PooledUtterance | None = None
        self._fed_at = 0.0
        """The time at which the utterance last got sound, on the monotonic clock; 0: never."""
        self._early = ""
        """The words of the utterance that were sent to the client before the commit."""
        self._transcribed: dict[str, asyncio.Event] = {}
        self._sounds_until = 0.0
        """The time at which the replies so far will have been played, on the monotonic clock."""

    # --- what the caller says -----------------------------------------------------------------------

    def listen(self) -> AsyncIterator[TranscriptGrew]:
        """Begin an utterance; yield its words as soon as further sound is unlikely to change them."""
        self.discard()
        self._utterance, self._fed_at, self._early = self._engines.recognizer.start(), 0.0, ""
        return self._settled(self._utterance)

    def feed(self, pcm: bytes) -> None:
        """Pass sound to the recognizer; speech that begins during a reply is expected to be a murmur or a command."""
        if self._utterance:
            now = monotonic()
            if now - self._fed_at > GAP_S:
                self._utterance.expect(SAID_ALONE if now < self._sounds_until else ())
            self._fed_at = now
            self._utterance.feed(pcm)

    def discard(self) -> None:
        """Give up the utterance."""
        utterance, self._utterance = self._utterance, None
        if utterance:
            utterance.cancel()

    def transcribe(self, item: Item) -> AsyncIterator[HearingPart]:
        """Finish the utterance; yield its final transcript."""
        utterance, self._utterance = self._utterance, None
        known = self._transcribed[item.id] = asyncio.Event()
        assert utterance, "the core opens an utterance before it commits one"
        return self._finish(utterance, self._early, known)

    async def _settled(self, utterance: PooledUtterance) -> AsyncIterator[TranscriptGrew]:
        """Yield all words but the last of each partial transcript, as long as they only add to the words sent."""
        async for partial in utterance.partials():
            if self._utterance is not utterance:
                return
            certain = partial.rpartition(" ")[0].rstrip(PUNCTUATION)
            if len(certain) > len(self._early) and certain.startswith(self._early):
                more, self._early = certain[len(self._early) :], certain
                yield TranscriptGrew(more)

    async def _finish(self, utterance: PooledUtterance, early: str, known: asyncio.Event) -> AsyncIterator[HearingPart]:
        try:
            words = await utterance.finish()
            if utterance.others:
                words = await asyncio.to_thread(self._engines.dialogue.likeliest, [(words, 0.0), *utterance.others])
            if words.startswith(early) and words != early:
                yield TranscriptGrew(words[len(early) :])
            yield TranscriptDone(words, utterance.log_probability)
        except SpeechPoolFailed as error:
            log.warning("an utterance was not recognized: %s", error)
            yield TranscriptFailed("recognizer_failed", str(error))
        finally:
            utterance.cancel()
            known.set()

    # --- what is answered ---------------------------------------------------------------------------

    async def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """Wait for the transcripts, then speak the dialogue's answer, sentence by sentence."""
        yield Begin()
        for item in order.items:
            if known := self._transcribed.get(item.id):
                await known.wait()
        said = self._engines.dialogue.answer(order)
        pause_ms = 0
        try:
            async with closing(said):
                async for part in said:
                    yield part if isinstance(part, Call) else Words(part + " ")
                    if isinstance(part, Call) or order.modality == "text":
                        continue
                    async with aclosing(self._engines.synthesizer.speak(part, order.speed)) as pieces:
                        async for piece in pieces:
                            for sound in self._sounds(bytes(pause_ms * BYTES_PER_MS) + piece.pcm):
                                yield sound
                            pause_ms = piece.pause_ms
        except SpeechPoolFailed as error:
            log.warning("a reply could not be spoken: %s", error)
            yield End("failed", {"error": {"type": "server_error", "code": "synthesis_failed", "message": str(error)}})
            return
        yield End()

    def silenced(self) -> None:
        """Note that the replies no longer sound."""
        self._sounds_until = 0.0

    def _sounds(self, pcm: bytes) -> Iterator[ReplySound]:
        for start in range(0, len(pcm), CHUNK_BYTES):
            sound = pcm[start : start + CHUNK_BYTES]
            self._sounds_until = max(monotonic(), self._sounds_until) + len(sound) / BYTES_PER_MS / 1000
            yield ReplySound(sound)
