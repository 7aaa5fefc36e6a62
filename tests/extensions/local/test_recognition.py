"""Recognition with the real engines: synthetic and recorded voices, silence, noise, monologues, and failures."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from backend.extensions.local.recognition import moonshine_files
from backend.extensions.local.recognition.pooled import PooledRecognizer
from backend.extensions.local.recognition.tokens import OLD_SPELLING
from backend.extensions.local.speech_pool import PoolLimits, SpeechPool, SpeechPoolFailed
from backend.extensions.local.voice_session import SAID_ALONE
from backend.media.frame import BYTES_PER_MS, FRAME_BYTES
from backend.media.sound_file import read_audio
from backend.testing.speech import spoken, trimmed
from tests.support.speech import speech

pytestmark = [
    pytest.mark.process,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(shutil.which("flite") is None, reason="flite speaks to the recognizer"),
]
MOONSHINE = "backend.extensions.local.recognition.moonshine"
SENTENCE = "Could you tell me how far it is from Denver to Chicago?"
MARKS = str.maketrans("", "", ".,?!;:'-")


@asynccontextmanager
async def recognizer_of(
    engine: str, limits: PoolLimits | None = None
) -> AsyncIterator[tuple[PooledRecognizer, SpeechPool]]:
    pool = SpeechPool("speech recognition", engine, limits or PoolLimits())
    try:
        await pool.wait_until_ready()
        yield PooledRecognizer("of the tests", pool), pool
    finally:
        await pool.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="moonshine")
async def loaded_moonshine() -> AsyncIterator[PooledRecognizer]:
    async with recognizer_of(MOONSHINE) as (recognizer, _):
        yield recognizer


def words(text: str) -> list[str]:
    return text.translate(MARKS).lower().split()


def silence(ms: int) -> bytes:
    return bytes(ms * BYTES_PER_MS)


def noise(ms: int, amplitude: float) -> bytes:
    samples = np.random.default_rng(1).standard_normal(ms * 24) * amplitude * 32767
    return np.clip(samples, -32767, 32767).astype("<i2").tobytes()


async def transcript(recognizer: PooledRecognizer, pcm: bytes) -> str:
    utterance = recognizer.start()
    utterance.feed(pcm)
    return await utterance.finish()


async def as_spoken(recognizer: PooledRecognizer, pcm: bytes, *, pause_ms: int = 300) -> tuple[str, float, list[str]]:
    """Feed in real time, with a pause before the commit; return the words, seconds after the commit, and partials."""
    utterance, partials = recognizer.start(), list[str]()

    async def follow() -> None:
        partials.extend([partial async for partial in utterance.partials()])

    following = asyncio.create_task(follow())
    loop = asyncio.get_running_loop()
    began, stream = loop.time(), pcm + silence(pause_ms)
    for at in range(0, len(stream), FRAME_BYTES):
        utterance.feed(stream[at : at + FRAME_BYTES])
        await asyncio.sleep(began + at / BYTES_PER_MS / 1000 - loop.time())
    committed = loop.time()
    said = await utterance.finish()
    after_s = loop.time() - committed
    await following
    return said, after_s, partials


async def test_a_sentence_is_transcribed_with_its_punctuation(moonshine: PooledRecognizer) -> None:
    assert await transcript(moonshine, trimmed(spoken(SENTENCE))) == SENTENCE


async def test_a_recorded_voice_is_understood(moonshine: PooledRecognizer) -> None:
    recording = metadata.distribution(moonshine_files.PACKAGE).locate_file("moonshine_cpp/test-data/beckett.wav")
    said = words(await transcript(moonshine, read_audio(Path(str(recording)))))
    assert said == words("Ever tried. Ever failed. No matter. Try again. Fail again. Fail better.")


async def test_one_short_word_is_understood(moonshine: PooledRecognizer) -> None:
    assert words(await transcript(moonshine, trimmed(spoken("Yes.")))) == ["yes"]


async def test_the_transcript_grows_while_the_caller_speaks(moonshine: PooledRecognizer) -> None:
    said, _, partials = await as_spoken(moonshine, trimmed(spoken(SENTENCE)))
    assert said == SENTENCE
    assert partials
    assert all(words(SENTENCE)[: len(words(partial))] == words(partial) for partial in partials)


@pytest.mark.alone
async def test_the_transcript_is_there_at_the_commit(moonshine: PooledRecognizer) -> None:
    _, after_s, _ = await as_spoken(moonshine, trimmed(spoken(SENTENCE)))
    assert after_s < 1.0  # nothing to do on a free machine


@pytest.mark.parametrize("sound", [silence(3000), noise(3000, 0.001), noise(3000, 0.03), noise(3000, 0.3), silence(40)])
async def test_silence_and_noise_have_no_words(moonshine: PooledRecognizer, sound: bytes) -> None:
    assert await transcript(moonshine, sound) == ""


@pytest.mark.parametrize("room", [silence(60_000), noise(60_000, 0.003)], ids=["silence", "a room"])
async def test_a_minute_without_a_voice_has_no_words_and_needs_no_time(
    moonshine: PooledRecognizer, room: bytes
) -> None:
    utterance = moonshine.start()
    for at in range(0, len(room), 100 * BYTES_PER_MS):
        utterance.feed(room[at : at + 100 * BYTES_PER_MS])
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        assert await utterance.finish() == ""


async def test_no_input_gives_no_words(moonshine: PooledRecognizer) -> None:
    assert await moonshine.start().finish() == ""


@pytest.mark.parametrize(("said", "voice", "alone", "expected"), [
    ("sure", "slt", "Share", "Sure"),
    ("how much", "rms", "How much", "How much"),
    ("what time", "rms", "What time", "What time"),
])  # fmt: skip
async def test_a_word_during_a_reply_is_heard_as_a_murmur_where_it_may_be_one(
    moonshine: PooledRecognizer, said: str, voice: str, alone: str, expected: str
) -> None:
    sound = silence(200) + speech(said, voice) + silence(200)
    heard = []
    for phrases in ((), SAID_ALONE):
        utterance = moonshine.start()
        utterance.expect(phrases)
        utterance.feed(sound)
        heard.append(words(await utterance.finish()))
    assert heard == [words(alone), words(expected)]


@pytest.mark.slow
async def test_a_monologue_of_a_minute_is_transcribed_whole_and_nothing_is_added(moonshine: PooledRecognizer) -> None:
    sentences = [
        "The first train leaves the station at seven in the morning.",
        "My sister lives in a small house near the river.",
        "We have not decided where to spend our holiday this year.",
        "The museum is closed on Monday, but the garden is open.",
        "I would like to know whether the meeting was moved.",
    ]
    spoken_in_turn = [*sentences, *sentences, *sentences, *sentences]
    pcm = b"".join(trimmed(spoken(sentence)) + silence(400) for sentence in spoken_in_turn)
    assert len(pcm) >= 60_000 * BYTES_PER_MS
    utterance = moonshine.start()
    for at in range(0, len(pcm), 100 * BYTES_PER_MS):
        utterance.feed(pcm[at : at + 100 * BYTES_PER_MS])
        await asyncio.sleep(0)
    said = words(await utterance.finish())
    wanted = words(" ".join(spoken_in_turn))
    assert abs(len(said) - len(wanted)) <= 0.05 * len(wanted)
    assert sum(word in wanted for word in said) >= 0.95 * len(said)


async def test_an_utterance_that_is_cancelled_leaves_the_recognizer_free(moonshine: PooledRecognizer) -> None:
    utterance = moonshine.start()
    utterance.feed(trimmed(spoken(SENTENCE)) + silence(200))
    await asyncio.sleep(0.02)
    utterance.cancel()
    utterance.cancel()
    assert words(await transcript(moonshine, trimmed(spoken("Yes.")))) == ["yes"]


async def test_two_parallel_callers_are_both_understood(moonshine: PooledRecognizer) -> None:
    other = "What is the weather like in Seattle tomorrow morning?"
    both = await asyncio.gather(*(as_spoken(moonshine, trimmed(spoken(text))) for text in (SENTENCE, other)))
    assert [words(said) for said, _, _ in both] == [words(SENTENCE), words(other)]


async def test_a_recognizer_that_dies_while_the_caller_speaks_costs_no_word() -> None:
    async with recognizer_of(MOONSHINE) as (recognizer, pool):
        utterance = recognizer.start()
        utterance.feed(trimmed(spoken(SENTENCE)) + silence(200))
        await asyncio.sleep(0.05)
        os.kill(pool.pids[0], 9)
        assert await utterance.finish() == SENTENCE


async def test_a_job_that_fails_fails_the_utterance_with_a_hint() -> None:
    async with recognizer_of("tests.extensions.local.pool_engine") as (recognizer, _):
        with pytest.raises(SpeechPoolFailed, match="no such command") as failure:
            await transcript(recognizer, noise(1000, 0.3))
        assert failure.value.hint


async def test_the_models_old_spelling_of_days_is_modernised() -> None:
    assert OLD_SPELLING.sub(r"\1", "To-morrow, to-night, or another to-do?") == "Tomorrow, tonight, or another to-do?"
    assert OLD_SPELLING.sub(r"\1", "Good bye, good-bye, goodbye, a good by-product.") == (
        "Goodbye, goodbye, goodbye, a good by-product."
    )
