"""The local voice in a speech process: `python -m benchmarks.synthesis`.

A hundred sentences, from one word to forty, are spoken one after the other as a call would have them spoken. Measured
are the time from text to the first piece of sound, the whole time against the length of the sound, the loudness of each
sentence (`synthesis/loudness.py`: ITU-R BS.1770), its true peak, and steps at the ends of its pieces.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean, pstdev

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from backend.extensions.local.speech_pool import SpeechPool
from backend.extensions.local.synthesis.edges import SAMPLE_RATE
from backend.extensions.local.synthesis.loudness import Samples, loudness_lufs, true_peak
from backend.extensions.local.synthesis.pooled import ENGINE, PooledSynthesizer
from benchmarks.figures import percentile

OPENINGS = (
    "Okay.",
    "Sure!",
    "Let me see.",
    "As far as I know,",
    "I looked it up, and",
    "Good question:",
    "According to the latest report from this morning,",
    "Dr. Lee says that",
    "Hmm, that is hard to say, but",
    "You asked me about that yesterday already, so to be brief:",
)
BODIES = (
    "",
    "no.",
    "why do you ask?",
    "it is 7:30 pm.",
    "the train costs $49.50 and leaves at 6:15.",
    "the forecast for Seattle is 21 °C with a light breeze from the west.",
    "three new messages came in, one of them from bob.smith@example.com.",
    "it rained for 90 min, and the river rose by 2.5 m!",
    "the museum opens at nine, closes at five, and costs nothing at all on the first Sunday of the month.",
    "there are two ways to get there, either by the old road along the coast, which takes four hours but is very "
    "pretty, or by the highway, which takes less than half of that.",
)
CLICK = 0.01
"""A step between two samples at the very end of a piece, of full scale."""
FIRST_MS, LAST_MS = 5, 10


@dataclass(slots=True)
class Spoken:
    """What was measured of one sentence."""

    first_s: float = 0.0
    whole_s: float = 0.0
    sound: list[Samples] = field(default_factory=list)

    @property
    def samples(self) -> Samples:
        """All of its sound."""
        return np.concatenate(self.sound)

    @property
    def clicks(self) -> int:
        """Ends of pieces that begin or end in a step."""
        first, last = (SAMPLE_RATE * ms // 1000 for ms in (FIRST_MS, LAST_MS))
        ends = [part for piece in self.sound for part in (piece[:first], piece[-last:][::-1])]
        return sum(bool(part[0] != 0 or np.abs(np.diff(part)).max() > CLICK) for part in ends)


def main() -> None:
    """Measure, and print the table."""
    asyncio.run(_run())


async def _run() -> None:
    pool = SpeechPool("the voice", ENGINE)
    voice = PooledSynthesizer("the voice", pool)
    began = time.perf_counter()
    try:
        await _speak(voice, "Okay.")
        loaded_s = time.perf_counter() - began
        spoken = [await _speak(voice, f"{opening} {body}".strip()) for opening, body in product(OPENINGS, BODIES)]
        (process,) = (psutil.Process(pid) for pid in pool.pids)
        Console().print(_table(loaded_s, process.memory_info().rss, spoken))
    finally:
        await pool.close()


async def _speak(voice: PooledSynthesizer, sentence: str) -> Spoken:
    measured, began = Spoken(), time.perf_counter()
    async for piece in voice.speak(sentence):
        measured.whole_s = time.perf_counter() - began
        measured.first_s = measured.first_s or measured.whole_s
        measured.sound.append(np.frombuffer(piece.pcm, np.int16).astype(np.float32) / np.float32(32767))
    return measured


def _table(loaded_s: float, rss: int, spoken: list[Spoken]) -> Table:
    first_ms = [each.first_s * 1000 for each in spoken]
    sound_s = sum(each.samples.size for each in spoken) / SAMPLE_RATE
    loudness = [loudness_lufs(each.samples, SAMPLE_RATE) for each in spoken]
    table = Table("measured", "figure", title=f"{len(spoken)} sentences, {sound_s:.0f} s of speech")
    for name, figure in (
        ("process started to first sound", f"{loaded_s:.2f} s"),
        ("text to first sound, p50 / p95 / most", " / ".join(f"{each:.0f}" for each in _spread(first_ms)) + " ms"),
        ("speech a second of work", f"{sound_s / sum(each.whole_s for each in spoken):.0f} s"),
        ("memory of the process", f"{rss / 2**20:.0f} MiB"),
        ("loudness, mean", f"{fmean(loudness):.1f} LUFS"),
        ("loudness, least to most", f"{min(loudness):.1f} to {max(loudness):.1f} LUFS (s = {pstdev(loudness):.2f} LU)"),
        ("highest true peak", f"{20 * np.log10(max(true_peak(each.samples) for each in spoken)):.1f} dBTP"),
        ("clicks at the ends of pieces", str(sum(each.clicks for each in spoken))),
    ):
        table.add_row(name, figure)
    return table


def _spread(values: list[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    return percentile(ordered, 50), percentile(ordered, 95), ordered[-1]


if __name__ == "__main__":
    main()
