"""The utterance classifier: its real child process, and real speech."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest
import pytest_asyncio

from backend.call.utterance_tap import LONGEST_MS, Reading
from backend.extensions.utterances import classifier, worker
from backend.extensions.utterances.classifier import MOST_WAITING, UtteranceClassifier
from backend.media import g711
from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, Frame
from backend.media.resample import resample
from backend.turns.utterances import UtteranceKind
from tests.support.speech import noise, pcm_of, samples_of, silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(not shutil.which("flite"), reason="needs flite")

PATIENT_S = 20.0
"""Long, so that a busy machine can answer."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reader() -> AsyncIterator[UtteranceClassifier]:
    reader = UtteranceClassifier(within_s=PATIENT_S)
    await reader.start()
    yield reader
    await reader.close()


def uttered(text: str, voice: str = "slt") -> bytes:
    """The audio as endpointing gives it: with the pre-roll, and 140 ms of silence."""
    said = samples_of(speech(text, voice)) * 0.5
    room = np.random.default_rng(1).standard_normal(len(said) + 24 * 240) * 5
    room[24 * 100 : 24 * 100 + len(said)] += said
    return pcm_of(room)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("yeah", UtteranceKind.AGREEMENT),
        ("okay", UtteranceKind.AGREEMENT),
        ("I see", UtteranceKind.AGREEMENT),
        ("stop", UtteranceKind.COMMAND),
        ("wait", UtteranceKind.COMMAND),
        ("hold on", UtteranceKind.COMMAND),
        ("what about tomorrow", UtteranceKind.OTHER),
        ("in Celsius please", UtteranceKind.OTHER),
    ],
)
async def test_an_utterance_is_read_by_its_sound(reader: UtteranceClassifier, text: str, kind: UtteranceKind) -> None:
    reading = await reader.read(uttered(text))
    assert reading is not None
    assert reading.kind is kind
    assert reading.words == ("" if kind is UtteranceKind.OTHER else text.lower())


def by_telephone(pcm: bytes, law: g711.Law = g711.Law.MU) -> bytes:
    encoder, decoder = g711.Encoder(law), g711.Decoder(law)
    frames = (Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES))
    return b"".join(decoder.decode(encoder.encode(frame)) for frame in frames)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("law", g711.Law)
async def test_an_utterance_is_read_by_telephone(reader: UtteranceClassifier, law: g711.Law) -> None:
    said = {"okay": UtteranceKind.AGREEMENT, "makes sense": UtteranceKind.AGREEMENT, "stop": UtteranceKind.COMMAND}
    for voice in ("slt", "rms"):
        for text, kind in said.items():
            reading = await reader.read(by_telephone(uttered(text, voice), law))
            assert reading and reading.kind is kind, (voice, text)


def test_a_telephone_is_distinguished_from_a_microphone() -> None:
    for voice in ("slt", "rms", "awb", "kal16"):
        pcm = uttered("stop it please", voice)
        for sound, expected in ((pcm, False), (by_telephone(pcm), True)):
            heard = np.frombuffer(resample(sound, SAMPLE_RATE, 16_000), "<i2").astype(np.float32)
            assert worker.is_narrowband(heard) is expected, voice


@pytest.mark.asyncio(loop_scope="module")
async def test_sound_without_a_voice_is_noise(reader: UtteranceClassifier) -> None:
    breath = silence(100) + noise(300, dbfs=-30) + silence(140)
    assert await reader.read(breath) == Reading(UtteranceKind.NOISE)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("pcm", [b"", bytes(20), silence(20), silence(600)])
async def test_silence_and_scraps_are_noise(reader: UtteranceClassifier, pcm: bytes) -> None:
    assert await reader.read(pcm) == Reading(UtteranceKind.NOISE)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_long_utterance_is_not_read(reader: UtteranceClassifier) -> None:
    assert await reader.read(silence(LONGEST_MS + 20)) is None


@pytest.mark.asyncio(loop_scope="module")
async def test_a_finished_sentence_ends_more_probably_than_an_open_one(reader: UtteranceClassifier) -> None:
    finished = [await reader.sentence_end(each) for each in ("What is the weather in Seattle?", "book a table")]
    open_ = [await reader.sentence_end(each) for each in ("What is the", "can you tell me", "I would like to book a")]
    assert min(each or -9.0 for each in finished) > -1.0 > max(each or 0.0 for each in open_)
    assert await reader.sentence_end(" ...") is None


@pytest.mark.asyncio(loop_scope="module")
async def test_one_child_serves_calls_in_parallel(reader: UtteranceClassifier) -> None:
    said = [uttered("yeah"), uttered("stop")]
    readings = await asyncio.gather(*(reader.read(each) for each in said * 3))
    assert [each and each.words for each in readings] == ["yeah", "stop"] * 3


async def test_a_child_that_is_killed_comes_back() -> None:
    reader = UtteranceClassifier(within_s=PATIENT_S)
    await reader.start()
    try:
        assert await reader.sentence_end("how old is the universe") is not None
        before = reader._child.pid
        waiting = asyncio.create_task(reader.read(uttered("yeah")))
        await asyncio.sleep(0)
        reader._child.kill()
        assert await waiting is None  # immediately, not after twenty seconds
        await until(lambda: reader._child.running and reader._child.pid != before)
        await until(lambda: _reads_again(reader))
        await until(lambda: len(reader._waiting) == 0)
    finally:
        await reader.close()
    assert await reader.read(uttered("yeah")) is None


async def _reads_again(reader: UtteranceClassifier) -> bool:
    return await reader.sentence_end("how old is the universe") is not None


async def test_a_late_answer_is_dropped_and_the_queue_is_bounded() -> None:
    reader = UtteranceClassifier(within_s=0.05)
    await reader.start()
    try:
        pid = reader._child.pid
        assert pid
        os.kill(pid, signal.SIGSTOP)  # it accepts everything and does nothing
        began = time.monotonic()
        assert await asyncio.gather(*(reader.read(silence(1000)) for _ in range(3 * MOST_WAITING))) == [None] * 24
        assert time.monotonic() - began < 10
        assert len(reader._waiting) == MOST_WAITING
        os.kill(pid, signal.SIGCONT)
        await until(lambda: len(reader._waiting) == 0, within_s=30.0)
    finally:
        await reader.close()


async def test_a_child_that_answers_nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifier, "STUCK_AFTER_S", 0.2)
    reader = UtteranceClassifier(within_s=0.05)
    await reader.start()
    try:
        pid = reader._child.pid
        assert pid
        os.kill(pid, signal.SIGSTOP)
        assert await reader.read(silence(100)) is None
        await until(lambda: reader._child.running and reader._child.pid != pid)
    finally:
        await reader.close()
