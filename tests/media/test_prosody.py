"""How a voice ends: tones of known pitch, frame by frame."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest

from backend.media.frame import FRAME_BYTES, SAMPLE_RATE, Frame
from backend.media.prosody import LOOKED_AT_MS, Prosody


def glide(from_hz: float, to_hz: float, ms: int, level: float = 8000) -> bytes:
    """Return a voice-like tone (five harmonics) that glides evenly in semitones, as PCM16."""
    count = SAMPLE_RATE * ms // 1000
    hertz = from_hz * (to_hz / from_hz) ** (np.arange(count) / count)
    phase = 2 * np.pi * np.cumsum(hertz) / SAMPLE_RATE
    return sum((level / n * np.sin(n * phase) for n in range(1, 6)), np.zeros(count)).astype("<i2").tobytes()


def heard(prosody: Prosody, pcm: bytes) -> None:
    pcm += bytes(-len(pcm) % FRAME_BYTES)
    for at in range(0, len(pcm), FRAME_BYTES):
        prosody.append(Frame(pcm[at : at + FRAME_BYTES]))


@pytest.mark.parametrize(("from_hz", "to_hz"), [(200, 260), (220, 160), (120, 90), (110, 110), (330, 250)])
def test_the_slope_of_a_glide_is_found_in_semitones_a_second(from_hz: float, to_hz: float) -> None:
    prosody = Prosody()
    heard(prosody, glide(from_hz, to_hz, 800))
    found = prosody.ending()
    assert found is not None and found.pitch_slope is not None
    assert found.pitch_slope == pytest.approx(12 * np.log2(to_hz / from_hz) / 0.8, abs=0.8)


def test_silence_after_the_voice_is_left_out() -> None:
    prosody = Prosody()
    heard(prosody, glide(220, 160, 600) + bytes(FRAME_BYTES * 8))
    found = prosody.ending()
    assert found is not None and found.pitch_slope is not None and found.pitch_slope < -5


def test_noise_has_no_pitch_and_next_to_nothing_has_no_ending() -> None:
    prosody = Prosody()
    noise = np.random.default_rng(1).normal(0, 3000, SAMPLE_RATE // 2).astype("<i2").tobytes()
    heard(prosody, noise)
    found = prosody.ending()
    assert found is not None and found.pitch_slope is None and found.lengthened is None
    assert prosody.ending() is None
    heard(prosody, bytes(FRAME_BYTES))
    assert prosody.ending() is None


def test_a_drawn_out_syllable_is_long_beside_the_usual_ones() -> None:
    prosody = Prosody()
    gap = bytes(FRAME_BYTES * 4)
    for _ in range(3):
        heard(prosody, glide(200, 200, 200) + gap + glide(200, 190, 160))
        prosody.ending()
    heard(prosody, glide(200, 200, 200) + gap + glide(200, 190, 400))
    found = prosody.ending()
    assert found is not None and found.lengthened is not None and found.lengthened > 1.8


def test_a_voice_that_dies_away_falls_in_level() -> None:
    prosody = Prosody()
    heard(prosody, glide(200, 200, 600) + glide(200, 200, 200, 1000))
    found = prosody.ending()
    assert found is not None and found.level_fall is not None and found.level_fall > 10


def test_only_the_last_moments_are_kept() -> None:
    prosody = Prosody()
    heard(prosody, glide(200, 260, 20_000))
    assert f"{LOOKED_AT_MS // 20} frames" in repr(prosody)


def test_looking_takes_less_than_a_millisecond_or_so_at_a_pause_only() -> None:
    prosody, spent = Prosody(), []
    for _ in range(9):
        heard(prosody, glide(200, 180, 900))
        began = time.thread_time()
        prosody.ending()
        spent.append(time.thread_time() - began)
    assert statistics.median(spent) < 0.003
