"""The sentences as sound: three families of synthetic voices, in quiet, and with noise or other voices behind them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from backend.media.frame import SAMPLE_RATE
from benchmarks.recognition.texts import SENTENCES
from benchmarks.turn_sense.sounds import babble, quiet_room
from benchmarks.turn_sense.voices import Sound, Voice, at_level, families, level, say

VOICES = {
    "flite": tuple(Voice("flite", name) for name in ("slt", "rms", "awb", "kal16")),
    "espeak": tuple(Voice("espeak", name) for name in ("en-us", "en-gb", "en-us+f2", "en-us+m3")),
    "hibari": (Voice("hibari", "heart"),),
}
"""Each with its usual speed and pitch; a family's speakers take turns."""
LEVEL_DBFS = -24.0
LEAD_S, TAIL_S = 0.25, 0.3
"""Room noise before and behind a sentence, as the server sends it."""
ROOM_DBFS = -70.0
NOISES = ("quiet", "noise 10 dB", "noise 5 dB", "babble 10 dB", "babble 5 dB")


@dataclass(frozen=True, slots=True)
class Spoken:
    """One spoken sentence."""

    family: str
    noise: str
    text: str
    pcm: bytes
    """24 kHz mono PCM16."""
    end_ms: int
    """The moment of the last sound."""


def spoken(share: int = 1) -> Iterator[Spoken]:
    """Yield every `share`-th sentence in every voice family, in quiet; in noise, every third of these."""
    others: list[Sound] = []
    for family in families():
        for number, text in enumerate(SENTENCES[::share]):
            sound = _said(family, number, text)
            others = [*others[-30:], sound]
            chance = np.random.default_rng(number)
            for noise in NOISES if number % 3 == 0 else NOISES[:1]:
                yield _in_noise(family, noise, text, sound, others, chance)


def _said(family: str, number: int, text: str) -> Sound:
    speaker = VOICES[family][number % len(VOICES[family])]
    return at_level(say(speaker, [text.rstrip(".?").split()])[0], LEVEL_DBFS)


def _in_noise(
    family: str, noise: str, text: str, sound: Sound, others: list[Sound], chance: np.random.Generator
) -> Spoken:
    whole = np.concatenate((np.zeros(int(LEAD_S * SAMPLE_RATE)), sound, np.zeros(int(TAIL_S * SAMPLE_RATE))))
    whole = whole + quiet_room(len(whole), ROOM_DBFS, chance)
    kind, _, ratio = noise.partition(" ")
    if ratio:
        behind = babble(others, len(whole), chance) if kind == "babble" else chance.standard_normal(len(whole))
        whole = whole + behind * 10 ** ((LEVEL_DBFS - float(ratio.split()[0]) - level(behind)) / 20)
    pcm = (np.clip(whole, -1, 1) * 32767).astype("<i2").tobytes()
    return Spoken(family, noise, text, pcm, round(1000 * (LEAD_S + len(sound) / SAMPLE_RATE)))
