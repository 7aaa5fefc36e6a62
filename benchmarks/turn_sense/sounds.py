"""Sounds other than a caller's sentence: coughs, laughs, hums, babble, music, and voices turned away."""

import numpy as np
from numpy.random import Generator

from backend.media.frame import SAMPLE_RATE
from benchmarks.turn_sense.voices import Sound, at_level, level, trimmed

HUM_FORMANTS = ((250, 60, 1.0), (1100, 120, 0.08), (2200, 180, 0.04))
OPEN_FORMANTS = ((650, 90, 1.0), (1150, 110, 0.5), (2500, 160, 0.2), (3400, 250, 0.1))
THROAT_FORMANTS = ((500, 250, 0.7), (1400, 400, 1.0), (2600, 500, 0.7), (4200, 900, 0.4))
"""Frequency and width in hertz, and strength."""
BABBLERS = 6


def cough(chance: Generator) -> Sound:
    """One to three bursts: an explosion, a noisy middle, sometimes a voiced end."""
    out: list[Sound] = []
    for number in range(int(chance.choice([1, 2, 2, 3]))):
        length = chance.uniform(0.16, 0.32)
        time = np.arange(int(length * SAMPLE_RATE)) / SAMPLE_RATE
        burst = np.exp(-time / chance.uniform(0.015, 0.03)) + 0.35 * np.exp(-time / chance.uniform(0.06, 0.11))
        noise = _shaped(chance.standard_normal(len(time)), THROAT_FORMANTS, chance.uniform(0.85, 1.2))
        voiced = _voice(np.full(len(time), chance.uniform(140, 260)), OPEN_FORMANTS, chance, rough=0.2)
        late = np.clip((time - 0.09) / 0.05, 0, 1) * np.exp(-np.maximum(time - 0.12, 0) / 0.05)
        out.append(_unit(noise) * burst + chance.uniform(0.0, 0.35) * _unit(voiced) * late)
        out.append(np.zeros(int(chance.uniform(0.06, 0.16) * SAMPLE_RATE)) if number < 2 else np.zeros(1))
    return trimmed(np.concatenate(out))


def laugh(chance: Generator) -> Sound:
    """Three to six breathy calls, four or five a second, falling."""
    rate, pitch = chance.uniform(4.2, 5.4), chance.uniform(180, 330)
    out: list[Sound] = []
    for number in range(int(chance.integers(3, 7))):
        length = int(SAMPLE_RATE / rate)
        time = np.arange(length) / length
        hertz = pitch * (1 - 0.05 * number) * (1.05 - 0.2 * time)
        called = _unit(_voice(hertz, OPEN_FORMANTS, chance)) * np.clip((time - 0.3) / 0.08, 0, 1) * (time < 0.85)
        breath = _unit(_shaped(chance.standard_normal(length), OPEN_FORMANTS)) * (0.25 + 0.2 * (time < 0.3))
        out.append((called + breath * 0.5) * 0.9**number)
    return trimmed(np.concatenate(out))


def hum(chance: Generator, *, syllables: int = 2, pitch: float = 0.0) -> Sound:
    """ "Mm-hmm": nasal, the second syllable higher, a breath between; one syllable is "hmm"."""
    pitch = pitch or chance.uniform(110, 230)
    out: list[Sound] = []
    for number in range(syllables):
        length = int(chance.uniform(0.16, 0.26) * SAMPLE_RATE)
        time = np.arange(length) / length
        hertz = pitch * (1.0 + 0.18 * number + 0.12 * number * time - 0.05 * (1 - number) * time)
        swell = np.minimum(1, np.minimum(time / 0.15, (1 - time) / 0.2))
        out.append(_unit(_voice(hertz, HUM_FORMANTS, chance)) * swell)
        if number < syllables - 1:
            gap = int(chance.uniform(0.03, 0.08) * SAMPLE_RATE)
            out.append(0.04 * chance.standard_normal(gap))
    return trimmed(np.concatenate(out))


def muffled(sound: Sound, hertz: float, quieter_db: float) -> Sound:
    """A voice turned away: everything above `hertz` falls by 18 dB an octave, all of it by `quieter_db`."""
    spectrum = np.fft.rfft(sound)
    at = np.fft.rfftfreq(len(sound), 1 / SAMPLE_RATE)
    dull = np.fft.irfft(spectrum / np.sqrt(1 + (at / hertz) ** 6), len(sound))
    return np.asarray(at_level(dull, level(sound) - quieter_db))


def whispered(sound: Sound, chance: Generator) -> Sound:
    """The same sound without a voice in it: its spectrum, slice by slice, on noise."""
    size, hop = 720, 180
    window = np.hanning(size)
    out = np.zeros(len(sound) + size)
    for at in range(0, len(sound) - size, hop):
        magnitude = np.abs(np.fft.rfft(sound[at : at + size] * window))
        smooth = np.convolve(magnitude, np.ones(9) / 9, "same")
        phase = np.exp(2j * np.pi * chance.random(len(smooth)))
        tilt = np.sqrt(1 + (np.arange(len(smooth)) / 15) ** 1.2)  # whispers lack the voice's bass
        out[at : at + size] += np.fft.irfft(smooth * phase * tilt, size) * window
    return trimmed(out[: len(sound)])


def babble(voices: list[Sound], length: int, chance: Generator) -> Sound:
    """Several people together: `voices` are sentences, repeated as often as needed."""
    out = np.zeros(length)
    for _ in range(BABBLERS):
        at = -int(chance.integers(0, SAMPLE_RATE))
        while at < length:
            voice = at_level(voices[int(chance.integers(len(voices)))], -24 + chance.uniform(-3, 3))
            begin, end = max(0, at), min(length, at + len(voice))
            out[begin:end] += voice[begin - at : end - at]
            at = end + int(chance.uniform(0.05, 0.5) * SAMPLE_RATE)
    return np.asarray(out)


def talker(voices: list[Sound], length: int, chance: Generator) -> Sound:
    """One person who talks on, as on another phone, with pauses for the other side."""
    out, at = np.zeros(length), int(chance.uniform(0.3, 1.0) * SAMPLE_RATE)
    while at < length:
        voice = at_level(voices[int(chance.integers(len(voices)))], -24)
        end = min(length, at + len(voice))
        out[at:end] += voice[: end - at]
        at = end + int(chance.uniform(0.4, 1.8) * SAMPLE_RATE)
    return out


def music(length: int, chance: Generator) -> Sound:
    """Chords of plucked and bowed strings, a bass and a drum, 90 to 130 beats a minute."""
    out = np.zeros(length + SAMPLE_RATE * 4)
    beat = int(SAMPLE_RATE * 60 / chance.uniform(90, 130))
    scale = [0, 2, 4, 5, 7, 9, 11, 12]
    key = 130.8 * 2 ** (chance.integers(0, 12) / 12)
    for number, at in enumerate(range(0, length, beat)):
        degree = int(chance.choice([0, 3, 4, 5]))
        if number % 2 == 0:
            for step in (0, 2, 4):
                _add(out, at, _note(key * 2 ** (scale[(degree + step) % 7] / 12), beat * 2, 0.25, 1.2))
            _add(out, at, _note(key / 2 * 2 ** (scale[degree] / 12), beat * 2, 0.5, 0.8))
        _add(out, at, _note(2 * key * 2 ** (scale[int(chance.integers(8))] / 12), beat, 0.3, 0.35))
        drum = chance.standard_normal(SAMPLE_RATE // 8) * np.exp(-np.arange(SAMPLE_RATE // 8) / 500)
        _add(out, at, 0.25 * drum)
    return out[:length]


def quiet_room(length: int, dbfs: float, chance: Generator) -> Sound:
    """A low hiss with some hum in it."""
    noise = _shaped(chance.standard_normal(length), ((150, 200, 1.0), (600, 900, 0.4), (3000, 4000, 0.15)))
    return np.asarray(_unit(noise) * 10 ** (dbfs / 20))


def _add(out: Sound, at: int, sound: Sound) -> None:
    end = min(len(out), at + len(sound))
    out[at:end] += sound[: end - at]


def _note(hertz: float, length: int, strength: float, decay_s: float) -> Sound:
    time = np.arange(length) / SAMPLE_RATE
    tone = sum(np.sin(2 * np.pi * hertz * n * time) / n**1.5 for n in range(1, 7) if hertz * n < 9000)
    return np.asarray(strength * tone * np.exp(-time / decay_s) * np.minimum(1, time / 0.01))


def _voice(hertz: Sound, formants: tuple[tuple[int, int, float], ...], chance: Generator, rough: float = 0.03) -> Sound:
    """Pulses of a glottis at a changing pitch, through formants."""
    wobble = np.interp(np.arange(len(hertz)), np.arange(0, len(hertz) + 240, 240), _steps(len(hertz), chance))
    phase = np.cumsum(hertz * (1 + rough * wobble)) / SAMPLE_RATE
    return _shaped(1 - 2 * (phase % 1.0) ** 0.5, formants)


def _steps(length: int, chance: Generator) -> Sound:
    return chance.standard_normal(len(np.arange(0, length + 240, 240)))


def _shaped(sound: Sound, formants: tuple[tuple[int, int, float], ...], shift: float = 1.0) -> Sound:
    at = np.fft.rfftfreq(len(sound), 1 / SAMPLE_RATE)
    gain = sum(strength / (1 + ((at - hertz * shift) / width) ** 2) for hertz, width, strength in formants)
    return np.asarray(np.fft.irfft(np.fft.rfft(sound) * gain, len(sound)))


def _unit(sound: Sound) -> Sound:
    return np.asarray(sound / (np.sqrt(np.mean(sound**2)) + 1e-12))
