"""The callers' voices: flite where it is installed, espeak-ng with many timbres, hibari where it is installed.

A sentence with pauses is spoken in pieces. A synthesizer with a piece alone ends it as a sentence, but people who are
about to go on do not. So flite speaks the whole sentence, which is cut between two words; the others speak each piece
up to a comma. Some hesitating speakers lengthen the words before a pause: `drawn_out`.
"""

import importlib
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.media.frame import SAMPLE_RATE
from backend.media.sound_file import read_audio
from benchmarks.espeak import espeak

Sound = NDArray[np.float64]
"""24 kHz mono; full scale is 1."""

FLITE = ("slt", "rms", "awb", "kal16")
ESPEAK = ("en-us", "en-gb", "en-gb-scotland", "en-us+m3", "en-us+m7", "en-us+f2", "en-us+f4", "en-gb+f3", "en-gb+m2")
LOUD = 0.025
"""Share of the highest peak from which a synthesizer's clean output is speech."""
DRAWN_OUT_S = 0.18
"""Sounds that are lengthened at the end of a piece."""
OVERLAP_S = 0.02
PHONE = re.compile(r"(\w+):([\d.]+)")


@dataclass(frozen=True, slots=True)
class Voice:
    """One speaker."""

    family: str
    name: str
    speed: float = 1.0
    pitch: int = 50
    """0 to 100, for espeak-ng."""

    def __str__(self) -> str:
        return f"{self.family} {self.name}"


def families() -> tuple[str, ...]:
    """The voices that can speak on this machine."""
    found = ["espeak"]
    if shutil.which("flite"):
        found.append("flite")
    if _hibari() is not None:
        found.append("hibari")
    return tuple(found)


def drawn(family: str, chance: random.Random) -> Voice:
    """A speaker of one family."""
    speed = chance.uniform(0.88, 1.12)
    if family == "flite":
        return Voice(family, chance.choice(FLITE), speed)
    if family == "hibari":
        return Voice(family, "heart", chance.uniform(0.85, 1.15))
    return Voice(family, chance.choice(ESPEAK), speed, chance.randint(25, 75))


def say(voice: Voice, pieces: Sequence[Sequence[str]], *, unfinished: bool = False) -> list[Sound]:
    """One sentence in pieces, each from its first loud sample to its last. `unfinished`: the last goes on, too."""
    if voice.family == "flite" and len(pieces) > 1:
        return _cut(voice, pieces)
    last = len(pieces) - 1
    return [_one(voice, " ".join(piece) + ("," if unfinished or n < last else ".")) for n, piece in enumerate(pieces)]


def drawn_out(sound: Sound, factor: float) -> Sound:
    """The same with its last syllable lengthened at the same pitch, by overlapping pieces of it."""
    tail, hop = round(DRAWN_OUT_S * SAMPLE_RATE), round(OVERLAP_S * SAMPLE_RATE)
    if len(sound) < 2 * tail:
        return sound
    source, window = sound[-tail - hop :], np.hanning(2 * hop)
    length = round(tail * factor) + hop
    out, weight = np.zeros(length + 2 * hop), np.zeros(length + 2 * hop)
    for at in range(0, length, hop):
        begin = _best_start(source, out, at, min(len(source) - 2 * hop, int(at / factor)), hop)
        out[at : at + 2 * hop] += source[begin : begin + 2 * hop] * window
        weight[at : at + 2 * hop] += window
    joined = out[:length] / np.maximum(weight[:length], 0.1)
    return np.concatenate((sound[: -tail - hop], joined))


def _best_start(source: Sound, out: Sound, at: int, near: int, hop: int) -> int:
    """The place in `source`, close to `near`, at which the wave continues the end of `out`."""
    before = out[at : at + hop]
    starts = range(max(0, near - hop // 2), max(1, min(len(source) - 2 * hop, near + hop // 2)), 8)
    return max(starts, key=lambda start: float(before @ source[start : start + hop]), default=max(0, near))


def _one(voice: Voice, text: str) -> Sound:
    if voice.family == "flite":
        return trimmed(_flite(voice, text)[0])
    if voice.family == "hibari":
        return trimmed(np.asarray(_hibari()(text, speed=voice.speed, seed=1), float))
    speaker = espeak()
    speaker.change(voice.name.encode(), round(160 * voice.speed), voice.pitch)
    return trimmed(samples(speaker.speak(text)))


def _cut(voice: Voice, pieces: Sequence[Sequence[str]]) -> list[Sound]:
    """flite's phones with their lengths: the beginning of a sentence, spoken alone, shows how many it has."""
    whole, phones = _flite(voice, " ".join(word for piece in pieces for word in piece) + ".")
    counts = [len(_flite(voice, " ".join(w for piece in pieces[:n] for w in piece))[1]) for n in range(1, len(pieces))]
    edges = [0, *(round(phones[min(count, len(phones)) - 1] * SAMPLE_RATE) for count in counts), len(whole)]
    return [trimmed(whole[begin:end]) for begin, end in pairwise(edges)]


@cache
def _flite(voice: Voice, text: str) -> tuple[Sound, list[float]]:
    """The sound, and when each phone ends, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        printed = subprocess.run(
            [
                *("flite", "-voice", voice.name, "--setf", f"duration_stretch={1 / voice.speed:.3f}"),
                *("-psdur", "-t", text, "-o", str(path)),
            ],
            check=True,
            timeout=30,
            stdout=subprocess.PIPE,
        ).stdout.decode()
        ends = [float(end) for phone, end in PHONE.findall(printed) if phone != "pau"]
        return samples(read_audio(path)), ends


@cache
def _hibari() -> Any:
    try:
        return importlib.import_module("hibari").Hibari()
    except ImportError:
        return None


def samples(pcm: bytes) -> Sound:
    """24 kHz PCM16 as numbers."""
    return np.frombuffer(pcm, "<i2") / 32768


def trimmed(sound: Sound) -> Sound:
    """From the first loud sample to the last. Raises `ValueError` on silence."""
    loud = np.flatnonzero(np.abs(sound) > LOUD * np.abs(sound).max(initial=0.0))
    if len(loud) < SAMPLE_RATE // 50:
        raise ValueError("nothing is loud enough to be speech")
    return sound[loud[0] : loud[-1] + 1]


def at_level(sound: Sound, dbfs: float) -> Sound:
    """The sound at that loudness, measured over the 20 ms that are within 20 dB of the loudest."""
    return sound * 10 ** ((dbfs - level(sound)) / 20)


def level(sound: Sound) -> float:
    """Active level in dBFS."""
    size = SAMPLE_RATE // 50
    padded = np.pad(sound, (0, -len(sound) % size)).reshape(-1, size)
    power = np.mean(padded**2, axis=1)
    return float(10 * np.log10(np.mean(power[power > power.max() / 100]) + 1e-12))
