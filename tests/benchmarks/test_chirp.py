"""Missing and repeated parts of a known sound are found to the millisecond, also after the codec."""

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from benchmarks.chirp import Chirp, Wholeness, wholeness

CHIRP = Chirp(from_hz=300, to_hz=3000, ms=1600)
PCM: NDArray[np.int16] = (CHIRP.analytic(0, CHIRP.samples).imag * 10_000).astype("<i2")
FRAME = 480
HERE = 20_000


def heard(samples: NDArray[np.int16]) -> bytes:
    """Return the sound between silences, as it comes out of the codec."""
    pcm = samples.tobytes()
    pcm += bytes(-len(pcm) % FRAME_BYTES)
    frames = [Frame(pcm[at : at + FRAME_BYTES]) for at in range(0, len(pcm), FRAME_BYTES)]
    encoder, decoder = OpusEncoder(), OpusDecoder()
    sound = [decoder.decode(encoder.encode(frame)) for frame in [SILENCE] * 5 + frames + [SILENCE] * 5]
    return b"".join(sound[5:])


def without(count: int, at: int = HERE) -> NDArray[np.int16]:
    return np.concatenate([PCM[:at], PCM[at + count :]])


def test_a_complete_chirp_has_lost_nothing() -> None:
    assert wholeness(heard(PCM), CHIRP) == Wholeness(lost=0, repeated=0, glitches=0)


@pytest.mark.parametrize("count", [48, 60, 240, FRAME, 5 * FRAME])
def test_lost_samples_are_counted(count: int) -> None:
    found = wholeness(heard(without(count)), CHIRP)
    assert abs(found.lost - count) <= 24
    assert (found.repeated, found.glitches) == (0, 1)


def test_a_repeated_frame_is_counted() -> None:
    found = wholeness(heard(np.concatenate([PCM[:HERE], PCM[HERE - FRAME :]])), CHIRP)
    assert abs(found.repeated - FRAME) <= 24
    assert (found.lost, found.glitches) == (0, 1)


def test_two_slips_are_two_glitches() -> None:
    twice = np.concatenate([PCM[:10_000], PCM[10_000 + FRAME : 25_000], PCM[25_000 + FRAME :]])
    found = wholeness(heard(twice), CHIRP)
    assert abs(found.lost - 2 * FRAME) <= 48
    assert found.glitches == 2
