"""What Opus's complexity costs and what it is worth, on speech: `python -m benchmarks.opus_quality`.

Each setting encodes the same sentences as our encoder would, with redundancy (FEC) in the packets. Two distances from
what went in, over the frames in which somebody speaks: segmental signal-to-noise ratio (more is better; codecs that
shape their noise under the voice sound better than it says) and the distance of log-mel spectra (less is better). And
whether the redundancy is there: the signal-to-noise ratio of every fifth packet lost and rebuilt from the one after it.
"""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from benchmarks import speech

BITRATES = (32_000, 40_000)
COMPLEXITIES = (0, 1, 2, 3, 5, 7, 9)
VOICES = ("slt", "rms", "awb")
DELAY_LIMIT = 400
"""Samples in which the codec's own delay is looked for."""
QUIET = 100.0
"""Root mean square below which a frame is not judged."""
BANDS = 40
LOSE_EVERY = 5

Sound = NDArray[np.float64]


def main() -> None:
    """Measure and print."""
    frames = sentences()
    table = Table("bit/s", "complexity", "µs a frame", "SNR, dB", "mel distance, dB", "rebuilt, dB", "bytes a frame")
    for bitrate in BITRATES:
        for complexity in COMPLEXITIES:
            table.add_row(str(bitrate), str(complexity), *judged(frames, OpusEncoder(bitrate, complexity)))
    plain = OpusEncoder()
    plain.set_fec(False)
    table.add_row("plain", "0", *judged(frames, plain))
    Console().print(table)


def judged(frames: list[Frame], encoder: OpusEncoder) -> tuple[str, ...]:
    """One setting's figures."""
    packets, costs = [], []
    for frame in frames:
        began = time.thread_time_ns()
        packets.append(encoder.encode(frame))
        costs.append((time.thread_time_ns() - began) / 1000)
    clean, rebuilt = decoded(packets, lose_every=0), decoded(packets, lose_every=LOSE_EVERY)
    original = samples(b"".join(frames))
    delay = delay_of(original, clean)
    snr, mel = distances(original, clean, delay)
    lost = [index for index in range(len(frames)) if index % LOSE_EVERY == 2]
    repaired, _ = distances(original, rebuilt, delay, lost)
    size = float(np.mean([len(packet) for packet in packets]))
    return tuple(f"{value:.1f}" for value in (float(np.median(costs)), snr, mel, repaired, size))


def decoded(packets: list[bytes], lose_every: int) -> Sound:
    """What is heard; with losses, what is rebuilt from the packets after them."""
    decoder, parts = OpusDecoder(), []
    for index, packet in enumerate(packets):
        if lose_every and index % lose_every == 2 and index + 1 < len(packets):
            parts.append(decoder.recover(packets[index + 1], FRAME_SAMPLES))
        else:
            parts.append(decoder.decode(packet))
    return samples(b"".join(parts))


def distances(original: Sound, heard: Sound, delay: int, only: list[int] | None = None) -> tuple[float, float]:
    """Segmental SNR and mel distance over the frames with a voice, `only` these if given."""
    snrs, mels = [], []
    for index in range(len(original) // FRAME_SAMPLES - 2) if only is None else only:
        before = original[index * FRAME_SAMPLES : (index + 1) * FRAME_SAMPLES]
        after = heard[index * FRAME_SAMPLES + delay : (index + 1) * FRAME_SAMPLES + delay]
        if len(after) < FRAME_SAMPLES or np.sqrt(np.mean(before**2)) < QUIET:
            continue
        noise = np.mean((before - after) ** 2) + 1.0
        snrs.append(np.clip(10 * np.log10(np.mean(before**2) / noise), -10, 35))
        mels.append(np.sqrt(np.mean((mel_spectrum(before) - mel_spectrum(after)) ** 2)))
    return float(np.mean(snrs)), float(np.mean(mels))


def delay_of(original: Sound, heard: Sound) -> int:
    """Samples by which `heard` is late."""
    part = original[SAMPLE_RATE : 2 * SAMPLE_RATE]
    match = [float(part @ heard[SAMPLE_RATE + late : 2 * SAMPLE_RATE + late]) for late in range(DELAY_LIMIT)]
    return int(np.argmax(match))


def mel_spectrum(frame: Sound) -> Sound:
    """Log energies in `BANDS` bands, dB."""
    power = np.abs(np.fft.rfft(frame * np.hanning(len(frame)))) ** 2
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + SAMPLE_RATE / 2 / 700), BANDS + 1) / 2595) - 1)
    bins = np.clip((edges * len(frame) / SAMPLE_RATE).astype(int), 0, len(power) - 1)
    return np.array([10 * np.log10(power[low : max(low + 1, high)].mean() + 1e3) for low, high in pairwise(bins)])


def sentences() -> list[Frame]:
    """Speech of several voices."""
    texts = [(text, voice) for voice in VOICES for text in speech.QUESTIONS]
    return speech.frames(b"".join(speech.spoken(text, voice) for text, voice in texts))


def samples(pcm: bytes) -> Sound:
    """As numbers."""
    return np.frombuffer(pcm, "<i2").astype(np.float64)


if __name__ == "__main__":
    main()
