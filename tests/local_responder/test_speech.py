"""The language model's arithmetic, the voice, and the recogniser's process."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from local_responder.dialogue.phrases import sentences
from local_responder.recognition.ears import Ears
from local_responder.recognition.language_model import arpa
from local_responder.synthesis.voice import speak
from tests.local_responder.flite import spoken_by


def section(model: str, order: int) -> dict[str, float]:
    """The probabilities of one order, by gram."""
    body = model.split(f"\\{order}-grams:\n")[1].split("\n\n")[0]
    rows = [line.split(" ") for line in body.splitlines()]
    return {" ".join(row[1 : 1 + order]): 10 ** float(row[0]) for row in rows}


def test_language_model_gives_weights_their_share() -> None:
    model = arpa([("yes", 3), ("no thanks", 1)])
    assert sum(section(model, 1).values()) == pytest.approx(1, abs=0.01)
    after_start = section(model, 2)
    assert after_start["<s> yes"] == pytest.approx(3 * after_start["<s> no"], rel=0.01)
    assert "<s> no thanks" in section(model, 3)


def test_expected_sentences_cover_the_domain() -> None:
    known = dict(sentences())
    assert len(known) > 10_000
    assert {"what's the weather in seattle", "who wrote hamlet", "goodbye"} <= set(known)


def test_voice_speaks_at_full_rate_and_loud_enough() -> None:
    pcm = speak("The weather in Seattle is fine.")
    samples = np.frombuffer(pcm, np.int16)
    assert 1200 <= len(pcm) // 48 <= 4000
    assert 8000 <= np.abs(samples).max() <= 32767


def test_voice_serves_threads_one_at_a_time() -> None:
    async def both() -> list[bytes]:
        return await asyncio.gather(*(asyncio.to_thread(speak, "One two three.") for _ in range(4)))

    lengths = [len(pcm) // 48 for pcm in asyncio.run(both())]
    assert max(lengths) - min(lengths) < 50


async def test_ears_answer_in_parallel_and_start_again_after_dying() -> None:
    ears = Ears()
    try:
        pcm = await asyncio.to_thread(spoken_by, "rms", "goodbye")
        assert await asyncio.gather(*(ears.recognise(pcm) for _ in range(3))) == ["goodbye"] * 3
        process = await ears._child.wait_until_running()
        process.kill()
        await process.wait()
        assert await ears.recognise(pcm) == "goodbye"
    finally:
        await ears.close()
    await ears.close()
