"""How good speech sounds after Opus, as PESQ and ESTOI judge it: `python -m benchmarks.speech_quality`.

Nine sentences of three voices go through our encoder and decoder at several settings. What comes out is compared with
what went in:

- *PESQ*, wideband (ITU-T P.862.2), predicts what listeners would say on the scale of 1 (bad) to 5 (excellent); what is
  identical has 4.64. Made for speech codecs at 16 kHz.
- *ESTOI* (Jensen and Taal, IEEE/ACM TASLP 24(11), 2016) predicts how much of it is understood, from 0 to 1.

The second column of each is for a line that loses every twentieth packet, at random: it is rebuilt from the redundancy
in the packet after it where that came, as a call does, and concealed where it did not.

Both measures come from packages that the server does not need: `uv pip install --group quality`. The C code inside
`pesq` is ITU-T's reference implementation, whose owners allow it for evaluation; see its notice before any other use.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame
from backend.media.opus import PLAIN_BITRATE, OpusDecoder, OpusEncoder
from benchmarks import speech
from benchmarks.chirp import CODEC_DELAY
from benchmarks.opus_quality import VOICES, samples

LOSSES = (0.0, 0.05)
SEEDS = 2
"""Patterns of loss for each sentence."""
RATE = 16_000
"""What PESQ's wideband mode listens at."""

Sound = NDArray[np.float64]


class Setting(NamedTuple):
    """Of the encoder."""

    bitrate: int
    complexity: int
    redundancy: bool = True

    def encoder(self) -> OpusEncoder:
        """A new one, at rest."""
        encoder = OpusEncoder(self.bitrate, self.complexity)
        encoder.set_fec(self.redundancy)
        return encoder


SETTINGS = (
    Setting(16_000, 0),  # to show what bad looks like
    *(Setting(bitrate, complexity) for bitrate in (32_000, 40_000) for complexity in (0, 5, 9)),
    Setting(40_000, 0, redundancy=False),
)


def main() -> int:
    """Measure and print. Exit status 2 without the packages."""
    try:
        import pesq  # noqa: F401
        import pystoi  # noqa: F401
    except ImportError:
        sys.stderr.write("This needs two packages more: uv pip install --group quality\n")
        return 2
    sentences = [speech.frames(speech.spoken(text, voice)) for voice in VOICES for text in speech.QUESTIONS]
    heads = [f"{name}, {loss:.0%} lost" for name in ("PESQ", "ESTOI") for loss in LOSSES]
    table = Table("bit/s", "complexity", *heads)
    for setting in SETTINGS:
        judged = [scores(sentences, setting, loss) for loss in LOSSES]
        cells = [f"{value:.2f}" for value, _ in judged] + [f"{value:.3f}" for _, value in judged]
        name = f"{setting.bitrate:,}" if setting.redundancy else f"{PLAIN_BITRATE:,}, no redundancy"
        table.add_row(name, str(setting.complexity), *cells)
    Console(width=max(Console().width, 110)).print(table)
    return 0


def scores(sentences: Sequence[list[Frame]], setting: Setting, loss: float) -> tuple[float, float]:
    """PESQ and ESTOI, means over all sentences and patterns of loss."""
    found = [
        score(frames, heard(frames, setting.encoder(), lost(len(frames), loss, seed)))
        for frames in sentences
        for seed in range(SEEDS if loss else 1)
    ]
    return mean(quality for quality, _ in found), mean(understood for _, understood in found)


def lost(packets: int, loss: float, seed: int) -> frozenset[int]:
    """Which packets never come."""
    chance = random.Random(seed)
    return frozenset(index for index in range(packets) if chance.random() < loss)


def heard(frames: Sequence[Frame], encoder: OpusEncoder, gone: frozenset[int]) -> Sound:
    """What comes out when the packets `gone` are lost: 24 kHz."""
    decoder, parts = OpusDecoder(), list[bytes]()
    packets = [encoder.encode(frame) for frame in frames]
    for index, packet in enumerate(packets):
        if index not in gone:
            parts.append(decoder.decode(packet))
        elif index + 1 < len(packets) and index + 1 not in gone:
            parts.append(decoder.recover(packets[index + 1], FRAME_SAMPLES))
        else:
            parts.append(decoder.conceal(FRAME_SAMPLES))
    return samples(b"".join(parts))


def score(frames: Sequence[Frame], after: Sound) -> tuple[float, float]:
    """PESQ and ESTOI of one sentence."""
    from pesq import pesq
    from pystoi import stoi

    before = samples(b"".join(frames))
    reference, degraded = at_16_khz(before[: len(after) - CODEC_DELAY]), at_16_khz(after[CODEC_DELAY:])
    return float(pesq(RATE, reference, degraded, "wb")), float(stoi(reference, degraded, RATE, extended=True))


def at_16_khz(sound: Sound) -> Sound:
    """From 24 kHz, from -1 to 1."""
    from scipy.signal import resample_poly

    return np.asarray(resample_poly(sound / 32768, RATE // 8000, SAMPLE_RATE // 8000), dtype=np.float64)


if __name__ == "__main__":
    sys.exit(main())
