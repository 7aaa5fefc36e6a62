"""Speech recognition by pocketsphinx, a dialogue, and the voice of espeak-ng behind the Realtime protocol. One per
connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

from backend.media.frame import BYTES_PER_MS
from local_responder.dialogue.base import Dialogue
from local_responder.dialogue.rules import RulesDialogue
from local_responder.dialogue.tidy import tidy
from local_responder.realtime.items import Item
from local_responder.realtime.parts import (
    Audio,
    Begin,
    Call,
    End,
    HearingPart,
    ReplyPart,
    Transcript,
    TranscriptDone,
    TranscriptFailed,
    Trouble,
    Words,
)
from local_responder.realtime.response import Order
from local_responder.realtime.shell import closing
from local_responder.recognition.ears import Ears, EarsFailed

CHUNK_MS = 100
"""Milliseconds of audio in one delta."""


class DemonstrationBrain:
    """Hears with `ears`, speaks with `speak` (words to 24 kHz mono PCM16; blocking, called in a thread)."""

    def __init__(self, ears: Ears, speak: Callable[[str], bytes], dialogue: Dialogue | None = None) -> None:
        """Without a `dialogue`, the rules answer."""
        self._dialogue = dialogue or RulesDialogue()
        self._ears = ears
        self._speak = speak
        self._heard: dict[str, asyncio.Event] = {}

    async def opening(self) -> AsyncIterator[Trouble]:
        """Nothing goes wrong on purpose."""
        nothing: tuple[Trouble, ...] = ()
        for part in nothing:
            yield part

    def listen(self) -> AsyncIterator[Transcript]:
        """No words before the commit."""
        return _nothing_early()

    def feed(self, pcm: bytes) -> None:
        """The sound comes with the commit."""

    def discard(self) -> None:
        """Nothing was kept."""

    def hear(self, item: Item, pcm: bytes) -> AsyncIterator[HearingPart]:
        """Recognise what was said."""
        known = self._heard[item.id] = asyncio.Event()
        return self._recognise(pcm, known)

    def answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        """Understand the newest item, and speak."""
        return self._answer(order)

    def lateness_s(self, order: Order) -> float:
        """A cancelled reply stops at once."""
        return 0.0

    def __repr__(self) -> str:
        return f"DemonstrationBrain({self._dialogue!r})"

    # --- hearing ------------------------------------------------------------------------------------

    async def _recognise(self, pcm: bytes, known: asyncio.Event) -> AsyncIterator[HearingPart]:
        try:
            words = tidy(await self._ears.recognise(pcm))
            if words:
                yield Transcript(words)
            yield TranscriptDone(words)
        except EarsFailed as error:
            yield TranscriptFailed("recogniser_failed", str(error))
        finally:
            known.set()

    # --- answering ----------------------------------------------------------------------------------

    async def _answer(self, order: Order) -> AsyncIterator[ReplyPart]:
        yield Begin()
        for item in order.items:
            if item.id in self._heard:
                await self._heard[item.id].wait()
        said = self._dialogue.answer(order)
        async with closing(said):
            async for part in said:
                if isinstance(part, Call):
                    yield part
                    continue
                yield Words(part.text + " ")
                if order.modality == "audio":
                    pcm = await asyncio.to_thread(self._speak, part.text)
                    for chunk in chunks(pcm):
                        yield Audio(chunk)
        yield End()


async def _nothing_early() -> AsyncIterator[Transcript]:
    nothing: tuple[Transcript, ...] = ()
    for part in nothing:
        yield part


def chunks(pcm: bytes) -> Iterator[bytes]:
    """`pcm` in deltas of a tenth of a second."""
    size = CHUNK_MS * BYTES_PER_MS
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]
