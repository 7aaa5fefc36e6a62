"""The resampler: no seams, the right pitch, the right length, and no aliasing."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BadRequest
from backend.media.resample import Resampler, resample
from tests.support.examples import examples
from tests.support.speech import noise, samples_of, tone

RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000]


@pytest.mark.parametrize("rate", RATES)
def test_a_tone_keeps_its_pitch_and_its_level(rate: int) -> None:
    there = samples_of(resample(tone(1000, 1000, rate=rate), rate, 24_000))
    wanted = samples_of(tone(1000, 1000))
    assert len(there) == len(wanted)
    middle = slice(2400, -2400)
    assert np.abs(there - wanted)[middle].max() < np.abs(wanted).max() / 500


def test_sixteen_kilohertz_keeps_what_it_can_carry() -> None:
    there = samples_of(resample(tone(6800, 1000), 24_000, 16_000))[1600:-1600]
    assert np.sqrt(np.mean(there**2)) == pytest.approx(np.sqrt(np.mean(samples_of(tone(6800, 1000)) ** 2)), rel=0.05)


def test_frequencies_above_the_target_rate_cause_no_aliasing() -> None:
    there = samples_of(resample(tone(9000, 1000), 24_000, 16_000))[1600:-1600]
    assert np.sqrt(np.mean(there**2)) < np.sqrt(np.mean(samples_of(tone(9000, 1000)) ** 2)) / 1000


@given(
    st.sampled_from(RATES),
    st.sampled_from([16_000, 24_000]),
    st.integers(0, 2**32),
    st.lists(st.integers(0, 1500), max_size=12),
)
@examples(60)
def test_chunks_make_no_difference(source: int, target: int, seed: int, lengths: list[int]) -> None:
    pcm = random.Random(seed).randbytes(2 * sum(lengths))
    resampler = Resampler(source, target)
    parts, at = [], 0
    for length in lengths:
        parts.append(resampler.push(pcm[at : at + 2 * length]))
        at += 2 * length
    parts.append(resampler.flush())
    assert len(b"".join(parts)) == 2 * -(-sum(lengths) * target // source)
    seamless = samples_of(resample(pcm, source, target))
    assert np.all(np.abs(samples_of(b"".join(parts)) - seamless) <= 1)  # summation order may round one step apart


def test_a_flushed_resampler_begins_again() -> None:
    resampler = Resampler(24_000, 16_000)
    first = resampler.push(noise(100, dbfs=-20)) + resampler.flush()
    assert resampler.push(noise(100, dbfs=-20)) + resampler.flush() == first


def test_samples_beyond_full_scale_are_clipped() -> None:
    square = (b"\xff\x7f" * 50 + b"\x00\x80" * 50) * 20
    there = samples_of(resample(square, 24_000, 16_000))
    assert np.all(there[10:25] > 25_000) and np.all(there[44:56] < -25_000)


@pytest.mark.parametrize("rates", [(8_000, 24_000), (24_000, 8_000), (16_000, 24_000), (24_000, 16_000)])
def test_a_steady_resampler_returns_20_ms_for_20_ms(rates: tuple[int, int]) -> None:
    source, target = rates
    resampler = Resampler(source, target, steady=True)
    assert {len(resampler.push(tone(440, 20, rate=source))) for _ in range(20)} == {target // 50 * 2}


@pytest.mark.parametrize(
    ("rates", "steady"),
    [((0, 24_000), False), ((24_000, 10), False), ((1_000_000, 24_000), False), ((11_025, 24_000), True)],
)
def test_invalid_rates_and_rates_without_whole_frames_are_refused(rates: tuple[int, int], steady: bool) -> None:
    with pytest.raises(BadRequest):
        Resampler(*rates, steady=steady)
