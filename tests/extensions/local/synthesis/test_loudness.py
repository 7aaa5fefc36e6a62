"""Loudness against the values that EBU Tech 3341 and ITU-R BS.1770 give for tones, and the gain made of it."""

from __future__ import annotations

import numpy as np
import pytest

from backend.extensions.local.synthesis.loudness import PEAK_LIMIT, Samples, gain_to, loudness_lufs

RATES = (24_000, 48_000)
ONE_CHANNEL_DB = 3.01
"""EBU Tech 3341 gives stereo signals; one channel of the same level is this much quieter."""


def tone(dbfs: float, seconds: float, rate: int, hz: float = 1000.0) -> Samples:
    """A sine with its peak at `dbfs`."""
    return (10 ** (dbfs / 20) * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate)) / rate)).astype(np.float32)


@pytest.mark.parametrize("rate", RATES)
def test_full_scale_tone_of_997_hz_in_one_channel_is_at_minus_3_01(rate: int) -> None:
    assert loudness_lufs(tone(0, 5, rate, 997), rate) == pytest.approx(-3.01, abs=0.05)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("level", [-23.0, -33.0])
def test_cases_1_and_2_of_ebu_3341(rate: int, level: float) -> None:
    assert loudness_lufs(tone(level, 20, rate), rate) + ONE_CHANNEL_DB == pytest.approx(level, abs=0.1)


@pytest.mark.parametrize("rate", RATES)
def test_case_3_of_ebu_3341_gates_quiet_parts_relatively(rate: int) -> None:
    heard = np.concatenate([tone(-36, 10, rate), tone(-23, 60, rate), tone(-36, 10, rate)])
    assert loudness_lufs(heard, rate) + ONE_CHANNEL_DB == pytest.approx(-23, abs=0.1)


@pytest.mark.parametrize("rate", RATES)
def test_case_4_of_ebu_3341_gates_very_quiet_parts_absolutely(rate: int) -> None:
    around = [tone(-72, 10, rate), tone(-36, 10, rate)]
    heard = np.concatenate([*around, tone(-23, 60, rate), *reversed(around)])
    assert loudness_lufs(heard, rate) + ONE_CHANNEL_DB == pytest.approx(-23, abs=0.1)


@pytest.mark.parametrize("hz", [50, 100, 500, 2000, 8000])
def test_weighting_is_that_of_the_recommendation(hz: float) -> None:
    """The coefficients for 48 kHz in BS.1770-5, tables 1 and 2, give the gain at any frequency."""
    z = np.exp(-2j * np.pi * hz / 48_000)
    shelf = (1.53512485958697 - 2.69169618940638 * z + 1.19839281085285 * z**2) / (
        1 - 1.69065929318241 * z + 0.73248077421585 * z**2
    )
    high_pass = (1 - 2 * z + z**2) / (1 - 1.99004745483398 * z + 0.99007225036621 * z**2)
    expected = -0.691 - 20 - 3.01 + 20 * np.log10(abs(shelf * high_pass))
    for rate in RATES:
        assert loudness_lufs(tone(-20, 5, rate, hz), rate) == pytest.approx(expected, abs=0.1)


def test_silence_has_no_loudness_and_keeps_its_level() -> None:
    silence = np.zeros(24_000, np.float32)
    assert loudness_lufs(silence, 24_000) == -np.inf
    assert gain_to(-23, silence, 24_000) == 1.0
    assert gain_to(-23, silence[:0], 24_000) == 1.0


def test_sound_shorter_than_a_block_is_measured_too() -> None:
    assert loudness_lufs(tone(-20, 0.1, 24_000, 997), 24_000) == pytest.approx(-23, abs=0.5)


def test_gain_brings_a_tone_to_the_target() -> None:
    quiet = tone(-40, 2, 24_000)
    assert loudness_lufs(quiet * gain_to(-23, quiet, 24_000), 24_000) == pytest.approx(-23, abs=0.01)


def test_gain_never_lifts_the_peak_over_the_limit() -> None:
    click = np.zeros(24_000, np.float32)
    click[:24_000:6000] = 0.5
    assert np.abs(click * gain_to(-23, click, 24_000)).max() <= PEAK_LIMIT + 1e-6
