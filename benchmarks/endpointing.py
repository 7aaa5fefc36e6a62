"""When speech and its end are told, and what is missed or cut in two: `python -m benchmarks.endpointing`.

Fifteen short sentences in four voices of flite, each three times, wherever in a frame it happens to begin, through
the codec and a detector as a call has it, in rooms of several kinds:

- *onset*: from the first sound to the end of the first frame that is speech, in ms, the codec's delay included; the
  median, and what nine of ten stay within;
- *end*: from the last sound to the end of the first frame of the silence that follows, in the same way;
- *missed*: sentences of which nothing was heard;
- *cut*: sentences that became two utterances (300 ms of silence end one);
- *dips*: pauses heard within a sentence, each: what the hangover has to bridge;
- *hops*: how often the detector was asked, for a second of speech. It costs the more, the more often;
- *noise*: onsets heard before anybody spoke.

A *sound* is a sample of flite's own output beyond 1 % of full scale; what comes before the first and after the last is
cut off. A *known* room was heard for long enough before. *Deep* voices are lowered by a third. A *vacuum cleaner* is
pink noise as loud as the voice, switched on the moment it ends. With `--pauses`, the caller's encoder sends next to
nothing while nobody speaks. It takes some minutes.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import inf

import numpy as np
from rich.console import Console
from rich.table import Table

from backend.media.endpointing import LocalEndpointing, assembled
from backend.media.frame import FRAME_MS, SAMPLE_RATE, Frame
from backend.media.opus import OpusEncoder
from backend.media.receive import ReceivePipeline
from backend.media.resample import resample
from backend.media.segmenter import Segmenter, SegmenterState
from backend.media.vad import Engine, Vad
from backend.media.vad_silero import SileroEngine
from backend.settings.vad import VadSettings
from backend.transports.webrtc.aiortc_media import SLOT_TICKS
from backend.turns.events import SpeechResumed, SpeechStarted
from benchmarks import speech
from benchmarks.microphone import sent
from benchmarks.opus_quality import Sound, samples

VOICES = ("slt", "rms", "awb", "kal")
SENTENCES = (
    "What is the weather in Seattle tomorrow?",
    "Could you tell me how tall it is?",
    "Who wrote the music for that film?",
    "Stop, what about tomorrow?",
    "No, tell me about Paris instead.",
    "Please hold on.",
    "Thank you very much.",
    "Hello there.",
    "Yes.",
    "How old is the universe?",
    "Set a timer for ten minutes.",
    "That is not what I meant.",
    "She sells fresh fish.",
    "Half past six, if that suits you.",
    "Wait.",
)
PLACEMENTS = 3
AFTER_MS = 1500
NOISE_MS = 20_000

DEFAULTS = VadSettings.model_validate({})
THRESHOLD = DEFAULTS.threshold

COMPLEXITY = 5
"""Of the callers' encoder: libwebrtc's on telephones. (9 elsewhere, where noise makes no pauses.)"""
SOURCE = 1

Timed = tuple[int, Frame]
"""A frame, and the number of the 20 ms at whose end it was heard."""
Detector = Callable[[Engine, float], Vad]


@dataclass(frozen=True, slots=True)
class Room:
    """Where a sentence is said."""

    name: str
    gain_db: float = 0.0
    noise_dbfs: float | None = None
    """Pink."""
    known_ms: int = 3000
    """How long it was listened to before."""
    deep: bool = False
    followed: bool = False
    """By noise as loud as the voice."""


ROOMS = (
    Room("clean"),
    Room("20 dB quieter", gain_db=-20),
    Room("deep", deep=True),
    Room("pink at -50 dBFS", noise_dbfs=-50),
    Room("pink at -42 dBFS, known", noise_dbfs=-42, known_ms=9000),
    Room("pink at -35 dBFS", noise_dbfs=-35),
    Room("vacuum cleaner after", followed=True),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One sentence in a room, as it comes out of the codec."""

    frames: list[Timed]
    first_ms: float
    """When the first sound was made."""
    last_ms: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of it."""

    onset_ms: float | None
    """None: nothing was heard."""
    end_ms: float | None
    utterances: int
    dips: int
    false_starts: int
    hops: float
    """For each second of speech."""


class Counting(SileroEngine):
    """Notes how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.hops = 0

    def score_hop(self, pcm: bytes) -> float:
        """One more."""
        self.hops += 1
        return super().score_hop(pcm)

    def peek(self, pcm: bytes) -> float:
        """It costs the same."""
        self.hops += 1
        return super().peek(pcm)


def main() -> None:
    """Measure and print. Needs flite."""
    if not shutil.which("flite"):
        sys.exit("flite is not installed: apt install flite")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endpointing", description="When speech is told.")
    parser.add_argument("--pauses", action="store_true", help="callers send next to nothing while nobody speaks")
    pauses = parser.parse_args().pauses
    table = Table("room", "onset ms", "end ms", "missed", "cut", "dips", "hops a second", "noise")
    for room in ROOMS:
        table.add_row(room.name, *figures([judged(scene) for scene in scenes(room, pauses=pauses)]))
    Console().print(table)
    starts = ", ".join(f"{name} {onsets(sound, pauses=pauses)}" for name, sound in noises().items())
    Console().print(f"Onsets in {NOISE_MS // 1000} s of noise: {starts}")


def scenes(room: Room, *, pauses: bool) -> Iterable[Scene]:
    """Every sentence in this room, begun anywhere in a frame."""
    chance = np.random.default_rng(1)
    for text, voice, _ in product(SENTENCES, VOICES, range(PLACEMENTS)):
        yield scene(spoken(text, voice, room.deep), room, chance, pauses=pauses)


def scene(voice: Sound, room: Room, chance: np.random.Generator, *, pauses: bool) -> Scene:
    """One sentence in this room."""
    begin = room.known_ms * SAMPLE_RATE // 1000 + int(chance.integers(SAMPLE_RATE // 10))
    loud = begin + np.flatnonzero(np.abs(voice) > speech.LOUD)
    sound = np.zeros(begin + len(voice) + AFTER_MS * SAMPLE_RATE // 1000)
    sound[begin : begin + len(voice)] = voice * 10 ** (room.gain_db / 20)
    if room.noise_dbfs is not None:
        sound += pink(len(sound), room.noise_dbfs, chance)
    if room.followed:
        after = sound[loud[-1] + 1 :]
        after[:] = pink(len(after), _dbfs(sound[loud[0] : loud[-1]]), chance)
    heard = through_codec(sound, pauses=pauses)
    return Scene(heard, loud[0] * 1000 / SAMPLE_RATE, loud[-1] * 1000 / SAMPLE_RATE)


def judged(scene: Scene, detector: Detector = assembled) -> Heard:
    """What the detector and the segmenter make of it."""
    engine = Counting()
    speaks, edges, hops = _run(scene.frames, detector(engine, THRESHOLD), engine)
    first, last = int(scene.first_ms // FRAME_MS), int(scene.last_ms // FRAME_MS)
    voiced = [number for number in speaks if number >= first]
    within = [edge for number, edge in edges if number >= first]
    return Heard(
        onset_ms=(voiced[0] + 1) * FRAME_MS - scene.first_ms if voiced else None,
        end_ms=(voiced[-1] + 2) * FRAME_MS - scene.last_ms if voiced else None,
        utterances=within.count(SpeechStarted),
        dips=within.count(SpeechResumed),
        false_starts=len([edge for _, edge in edges if edge is SpeechStarted]) - within.count(SpeechStarted),
        hops=(hops[last] - hops[first - 1]) * 1000 / (scene.last_ms - scene.first_ms),
    )


def onsets(sound: Sound, detector: Detector = assembled, *, pauses: bool) -> int:
    """How often a voice is heard where nobody speaks."""
    engine = Counting()
    _, edges, _ = _run(through_codec(sound, pauses=pauses), detector(engine, THRESHOLD), engine)
    return [edge for _, edge in edges].count(SpeechStarted)


def _run(
    frames: Sequence[Timed], vad: Vad, engine: Counting
) -> tuple[list[int], list[tuple[int, type]], dict[int, int]]:
    """When speech was heard; what else was, and when; hops asked by then. All by number of 20 ms."""
    segmenter = Segmenter(DEFAULTS.pre_roll_ms, DEFAULTS.post_roll_ms, DEFAULTS.hangover_frames)
    endpointing = LocalEndpointing(vad, segmenter, THRESHOLD, DEFAULTS.onset_threshold)
    speaks: list[int] = []
    events: list[tuple[int, type]] = []
    hops = dict.fromkeys(range(frames[-1][0] + 1), 0)
    for number, frame in frames:
        events += [(number, type(piece)) for piece in endpointing.process(frame) if not isinstance(piece, bytes)]
        hops[number] = engine.hops
        if segmenter.state is SegmenterState.SPEECH:
            speaks.append(number)
    return speaks, events, hops


def figures(all_heard: list[Heard]) -> tuple[str, ...]:
    """One row."""
    found = [heard for heard in all_heard if heard.utterances]
    return (
        _spread([heard.onset_ms for heard in found if heard.onset_ms is not None]),
        _spread([heard.end_ms for heard in found if heard.end_ms is not None]),
        str(len(all_heard) - len(found)),
        str(sum(heard.utterances > 1 for heard in found)),
        str(sum(heard.dips for heard in found)),
        f"{np.mean([heard.hops for heard in all_heard]):.1f}",
        str(sum(heard.false_starts for heard in all_heard)),
    )


def _spread(values: list[float]) -> str:
    return f"{np.median(values):.0f} ({np.quantile(values, 0.9):.0f})" if values else "–"


# --- sounds ----------------------------------------------------------------------------------------------


@cache
def spoken(text: str, voice: str, deep: bool) -> Sound:
    """A sentence as flite says it, from its first sound to its last."""
    pcm = speech.trimmed(speech.spoken(text, voice))
    return samples(resample(pcm, 2 * SAMPLE_RATE, 3 * SAMPLE_RATE) if deep else pcm)


def through_codec(sound: Sound, *, pauses: bool) -> list[Timed]:
    """As a caller's browser sends it, and the server hears it."""
    encoder, pipeline = OpusEncoder(complexity=COMPLEXITY, pauses=pauses), ReceivePipeline(0.0, lost_after_s=inf)
    pcm = np.clip(np.rint(sound), -32768, 32767).astype("<i2").tobytes()
    frames: list[Timed] = []
    sequence = 0
    for number, packet in enumerate(sent([encoder.encode(frame) for frame in speech.frames(pcm)])):
        now = (number + 1) * FRAME_MS / 1000
        heard = pipeline.expire(now)
        if packet:
            sequence += 1
            heard += pipeline.receive(SOURCE, sequence, number * SLOT_TICKS, packet, now)
        frames += [(number, frame) for frame in heard]
    return frames


def noises() -> dict[str, Sound]:
    """What is not speech, each for `NOISE_MS`."""
    chance, length = np.random.default_rng(2), NOISE_MS * SAMPLE_RATE // 1000
    time = np.arange(SAMPLE_RATE // 5) / SAMPLE_RATE
    thump = 20_000 * np.exp(-40 * time) * np.sin(2 * np.pi * 130 * time)
    sounds = {"clicks": _repeated(np.array([25_000.0, -25_000.0]), length), "knocks": _repeated(thump, length)}
    for dbfs in (-30, -25):
        sounds[f"white at {dbfs} dBFS"] = 32768 * 10 ** (dbfs / 20) * chance.standard_normal(length)
        sounds[f"pink at {dbfs} dBFS"] = pink(length, dbfs, chance)
    return sounds


def pink(length: int, dbfs: float, chance: np.random.Generator) -> Sound:
    """Noise of equal power in every octave above 20 Hz."""
    spectrum = np.fft.rfft(chance.standard_normal(length))
    hertz = np.fft.rfftfreq(length, 1 / SAMPLE_RATE)
    shaped = np.fft.irfft(np.where(hertz > 20, spectrum / np.sqrt(np.maximum(hertz, 20)), 0), length)
    return np.asarray(shaped * 32768 * 10 ** (dbfs / 20) / np.sqrt(np.mean(shaped**2)))


def _repeated(sound: Sound, length: int) -> Sound:
    """Every 700 ms and a little, so that it meets every part of a frame."""
    out = np.zeros(length + len(sound))
    for begin in range(SAMPLE_RATE, length, SAMPLE_RATE * 7 // 10 + 101):
        out[begin : begin + len(sound)] += sound
    return out


def _dbfs(sound: Sound) -> float:
    return float(10 * np.log10(np.mean((sound / 32768) ** 2)))


if __name__ == "__main__":
    main()
