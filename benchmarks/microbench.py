"""The cost of each stage of the audio path for one 20 ms frame: `python -m benchmarks.microbench`.

Speech is made by flite (as in the tests), so that codec and detectors do real work. Each stage runs over the
same sentences a few times; the table gives the smallest and the median cost of a frame in microseconds, and
the median as a share of one core in one call. On a busy machine trust the smallest.
"""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from backend.media.frame import FRAME_BYTES, FRAME_MS, SAMPLE_RATE, Frame
from backend.media.jitter_buffer import JitterBuffer
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.media.playout import Playout
from backend.media.receive import VoiceDecoder
from backend.media.resample import Resampler
from backend.media.segmenter import Segmenter
from backend.media.sound_file import read_audio
from backend.media.vad import HopVad, RestingVad, RoomGate
from backend.media.vad_silero import SileroEngine

TEXT = "What is the weather in Seattle tomorrow, and should I take an umbrella? Please tell me about Paris as well."
ROUNDS = 3
COMPLEXITIES = (0, 2, 5, 10)

Stage = tuple[str, list[float]]


def main() -> None:
    """Measure every stage and print the table."""
    frames = sentences()
    stages = [*codec(frames), *detector(frames), *plumbing(frames)]
    table = Table("stage", "min µs", "median µs", "of a core", title=f"One {FRAME_MS} ms frame")
    for name, costs in stages:
        median = statistics.median(costs)
        table.add_row(name, f"{min(costs):.1f}", f"{median:.1f}", f"{median / (FRAME_MS * 10):.2f} %")
    Console().print(table)


def codec(frames: Sequence[Frame]) -> list[Stage]:
    """Opus both ways."""
    stages: list[Stage] = []
    for complexity in COMPLEXITIES:
        encoder = OpusEncoder(complexity=complexity)
        stages.append((f"encode, complexity {complexity}", timed(encoder.encode, frames)))
    encoder, decoder, resting = OpusEncoder(), OpusDecoder(), OpusEncoder()
    stages.append(("prepared silence", timed(lambda _: resting.rest(), frames)))
    stages.append(("decode", timed(decoder.decode, [encoder.encode(frame) for frame in frames])))
    return stages


def detector(frames: Sequence[Frame]) -> list[Stage]:
    """The detector with its gate: on speech, and on silence, where it rests."""
    vad, quiet = RestingVad(HopVad(SileroEngine()), RoomGate()), [Frame(bytes(FRAME_BYTES))] * len(frames)
    return [("VAD, speech", averaged(vad.score, frames)), ("VAD, silence", averaged(vad.score, quiet))]


def plumbing(frames: Sequence[Frame]) -> list[Stage]:
    """Everything that is not a codec or a model."""
    resampler = Resampler(SAMPLE_RATE, 16_000)
    segmenter = Segmenter(100, 300, 15)
    encoder, jitter, receiver = OpusEncoder(), JitterBuffer(), VoiceDecoder()
    packets = list(enumerate(encoder.encode(frame) for frame in frames))
    playout = Playout()
    for frame in list(frames) * (ROUNDS + 1):
        playout.push("item", frame)
    return [
        ("resample 24 to 16 kHz", timed(resampler.push, frames)),
        ("segmenter", timed(lambda frame: segmenter.push(frame, frame[1] > 3), frames)),
        ("jitter buffer", timed(lambda p: jitter.push(p[0], p[0] * 960, p[1], 0.0), packets)),
        ("jitter buffer, decode, cut", timed(lambda p: receiver.receive(p[0], p[0] * 960, p[1], 0.0), packets)),
        ("playout", timed(lambda _: playout.pull(), frames)),
    ]


def timed(stage: Callable[[Any], object], inputs: Sequence[Any]) -> list[float]:
    """Microseconds of each call, after one round to warm up."""
    costs: list[float] = []
    for round_ in range(ROUNDS + 1):
        for value in inputs:
            started = time.perf_counter_ns()
            stage(value)
            if round_:
                costs.append((time.perf_counter_ns() - started) / 1000)
    return costs


def averaged(stage: Callable[[Any], object], inputs: Sequence[Any], group: int = 16) -> list[float]:
    """As `timed`, averaged over groups of frames: a detector works only in those that complete a hop."""
    costs = timed(stage, inputs[: len(inputs) // group * group])
    return [statistics.fmean(costs[at : at + group]) for at in range(0, len(costs), group)]


def sentences() -> list[Frame]:
    """A few seconds of speech."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        subprocess.run(["flite", "-voice", "slt", "-t", TEXT, "-o", str(path)], check=True, timeout=30)
        pcm = read_audio(path)
    return [Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm) - FRAME_BYTES + 1, FRAME_BYTES)]


if __name__ == "__main__":
    main()
