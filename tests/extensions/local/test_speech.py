"""The voice, spoken in this very process."""

from __future__ import annotations

import asyncio

import numpy as np

from backend.extensions.local.synthesis.voice import speak


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
