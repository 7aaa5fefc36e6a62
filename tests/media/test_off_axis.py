"""Off-axis speech is recognised in vowels and consonants made of noise in two bands."""

import numpy as np
import pytest

from backend.media.frame import FRAME_SAMPLES, SAMPLE_RATE, Frame
from backend.media.off_axis import OffAxis
from backend.media.primary_speaker import PrimarySpeaker

CHANCE = np.random.default_rng(3)


def sound(rest_dbfs: float, treble_dbfs: float) -> Frame:
    """Return noise of these levels in 300 to 900 Hz and in 2.5 to 5 kHz."""
    samples = band(300, 900) * 10 ** (rest_dbfs / 20) + band(2500, 5000) * 10 ** (treble_dbfs / 20)
    return Frame(np.clip(np.rint(samples * 32768), -32768, 32767).astype("<i2").tobytes())


def band(low: float, high: float) -> np.ndarray:
    spectrum = np.fft.rfft(CHANCE.standard_normal(FRAME_SAMPLES))
    hertz = np.fft.rfftfreq(FRAME_SAMPLES, 1 / SAMPLE_RATE)
    spectrum[(hertz < low) | (hertz > high)] = 0
    noise = np.fft.irfft(spectrum, FRAME_SAMPLES)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)))


def say(voice: OffAxis, milliseconds: int, treble_db: float = -20, sibilants: bool = True, dbfs: float = -25) -> bool:
    """Play syllables of a vowel and a sibilant with little but treble; return whether they sound off-axis."""
    voice.begin()
    for at in range(milliseconds // 20):
        sibilant = sibilants and at % 8 >= 6
        voice.follow(sound(dbfs - 20, dbfs + treble_db + 15) if sibilant else sound(dbfs, dbfs + treble_db))
    return voice.off_axis


def test_no_voice_is_off_axis_before_the_voice_of_the_caller_is_known() -> None:
    assert not say(OffAxis(), 2000, treble_db=-45)


def test_a_voice_without_treble_is_off_axis_after_half_a_second() -> None:
    voice = OffAxis()
    say(voice, 3000)
    assert say(voice, 480, treble_db=-34)
    assert not say(voice, 260)


def test_a_short_word_without_consonants_is_not_off_axis() -> None:
    voice = OffAxis()
    say(voice, 3000)
    assert not say(voice, 400, sibilants=False)


@pytest.mark.parametrize("dbfs", [-45, -15])
def test_a_quiet_or_a_loud_voice_is_not_off_axis(dbfs: float) -> None:
    voice = OffAxis()
    say(voice, 3000)
    assert not say(voice, 600, dbfs=dbfs)


def test_the_reference_follows_another_microphone_but_no_asides() -> None:
    voice = OffAxis()
    say(voice, 3000)
    assert all(say(voice, 1500, treble_db=-34) for _ in range(3))
    for _ in range(20):
        say(voice, 1500, treble_db=-34)
    assert not say(voice, 1500, treble_db=-34)


def test_the_primary_speaker_passes_the_current_utterance_on() -> None:
    near = PrimarySpeaker()
    for _ in range(20):
        near.accepts(sound(-70, -90), False, False)
    for begun, treble_db, off_axis in ((False, -20, False), (False, -36, True), (False, -20, False)):
        for _ in range(100):
            begun = near.accepts(sound(-25, -25 + treble_db), True, begun)
        assert near.off_axis == off_axis
        for _ in range(20):
            near.accepts(sound(-70, -90), False, False)
