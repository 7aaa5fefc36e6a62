"""The voice in a speech process of its own."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from backend.extensions.local.speech_pool import PoolLimits, SpeechPool, SpeechPoolFailed
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.pooled import ENGINE, PooledSynthesizer

pytestmark = pytest.mark.process
LONG = (
    "I found three trains to Boston tomorrow morning; the first one leaves at six fifteen, arrives at ten twenty, and "
    "costs forty dollars, while the second, which is a little slower, leaves at seven and costs only thirty dollars."
)


@asynccontextmanager
async def pooled_voice() -> AsyncIterator[PooledSynthesizer]:
    pool = SpeechPool("the voice", ENGINE, PoolLimits(most_waiting=4))
    try:
        yield PooledSynthesizer("Hibari heart", pool)
    finally:
        await pool.close()


async def pieces_of(voice: PooledSynthesizer, sentence: str) -> list[Piece]:
    return [piece async for piece in voice.speak(sentence)]


async def test_pieces_come_as_they_are_made_and_stop_when_the_reader_stops() -> None:
    async with pooled_voice() as voice:
        pieces = await pieces_of(voice, LONG)
        assert len(pieces) > 2
        async with aclosing(voice.speak(LONG * 5)) as unwanted:
            await anext(unwanted)
        began = time.monotonic()
        assert await pieces_of(voice, "Okay.")
        assert time.monotonic() - began < 3
        assert await pieces_of(voice, " ") == []


async def test_more_sentences_than_the_queue_holds_are_refused() -> None:
    async with pooled_voice() as voice:
        ended = await asyncio.gather(*(pieces_of(voice, LONG) for _ in range(12)), return_exceptions=True)
        assert any(isinstance(each, SpeechPoolFailed) for each in ended)
        assert sum(isinstance(each, list) for each in ended) >= 4
