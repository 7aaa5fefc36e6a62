"""Whose voice is it: `python -m benchmarks.near_voice --seed 7`.

Callers of two families of synthesizers ask questions in rooms where others speak, through the codec, the detector, near
voice and the segmenter as a call has them:

- *answered*: questions whose utterance ended after the last word, and no later than 300 ms after it would have in a
  quiet room, and of which nine tenths were forwarded;
- *onset*: from the first sound to the end of the frame that began the utterance, in ms, where none was under way;
- *late*: from the last sound and the hangover to the end of the utterance, in ms (nine of ten are within the brackets);
- *false turns*: utterances of 80 ms of voice and more that no question touches, a minute.

Then callers who asked one question are silent for a minute while somebody else talks. Last, what is said beside a
reply: *interruptions* are kept when they are speech and not called muffled after 500 ms of voice, or at their end if
that comes first; *asides*, through a low pass of 900 to 1,500 Hz and 6 to 10 dB quieter, are told apart when they are
either. With `--without`, near voice is turned off.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np
from rich.console import Console
from rich.table import Table

from backend.media.endpointing import LocalEndpointing, open_endpointing
from backend.media.frame import FRAME_MS, SAMPLE_RATE
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechStarted, SpeechStopped
from benchmarks.endpointing import Timed, through_codec
from benchmarks.turn_sense import sounds, texts, voices
from benchmarks.turn_sense.voices import Sound, Voice

ROOMS = (
    ("quiet", None, 0.0),
    ("babble", "babble", 20.0),
    ("babble", "babble", 10.0),
    ("babble", "babble", 5.0),
    ("another voice", "talker", 15.0),
    ("another voice", "talker", 10.0),
    ("music", "music", 12.0),
)
ALONE = (("another voice", "talker", 15.0), ("another voice", "talker", 10.0), ("babble", "babble", 20.0))
ALONE_S = 60.0
QUESTIONS = 3
"""Asked in each scene."""
LATE_MS = 300.0
FORWARDED = 0.9
TURN_MS = 80
READ_MS = 500
HISS_DBFS = -66.0
OTHERS = 12
"""Sentences of other people that a room is made of."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """From the frame that began it to the one that ended it, in ms, and how much of that was voice."""

    began: float
    ended: float
    voiced: float


@dataclass
class Heard:
    """What endpointing made of a sound."""

    utterances: list[Utterance] = field(default_factory=list)
    forwarded: list[float] = field(default_factory=list)
    """When the forwarded frames began, in ms."""
    muffled: list[tuple[float, bool]] = field(default_factory=list)
    """Frames of voice: when they ended, and whether the utterance sounded muffled by then."""
    us: list[float] = field(default_factory=list)
    """What frames cost."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A sound, and from when to when something was said in it, in ms."""

    frames: list[Timed]
    said: list[tuple[float, float]]
    kinds: list[str]
    minutes: float


class Row:
    """Figures of one room."""

    def __init__(self) -> None:
        self.answered: list[bool] = []
        self.onsets: list[float] = []
        self.late: list[float] = []
        self.forwarded: list[float] = []
        self.false_turns, self.minutes = 0, 0.0

    def add(self, scene: Scene, heard: Heard) -> None:
        """Judge one scene."""
        touched: set[Utterance] = set()
        for began, ended in scene.said:
            its = [each for each in heard.utterances if each.began <= ended and each.ended >= began]
            touched.update(its)
            here = {int(at // FRAME_MS) for at in heard.forwarded if began - FRAME_MS < at < ended}
            share = min(1.0, len(here) / max(1, int((ended - began) // FRAME_MS)))
            late = its[-1].ended - ended - 300 if its else np.inf
            self.answered.append(-250 < late <= LATE_MS and share >= FORWARDED)
            self.forwarded.append(share)
            if its:
                self.late.append(late)
                if its[0].began >= began - FRAME_MS:
                    self.onsets.append(its[0].began - began)
        self.false_turns += sum(each.voiced >= TURN_MS for each in heard.utterances if each not in touched)
        self.minutes += scene.minutes

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        return (
            f"{np.mean(self.answered):.0%} of {len(self.answered)}",
            _spread(self.onsets),
            _spread(self.late),
            f"{np.mean(self.forwarded):.1%}",
            f"{self.false_turns / self.minutes:.1f}",
        )


def main() -> None:
    """Measure and print: about ten seconds for each caller on a core of its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.near_voice", description="Whose voice it is.")
    parser.add_argument("--seed", type=int, default=1, help="every scene is drawn from it")
    parser.add_argument("--callers", type=int, default=8, help="callers in each room")
    parser.add_argument("--without", action="store_true", help="turn near voice off")
    chosen = parser.parse_args()
    settings = VadSettings.model_validate({"near_voice": not chosen.without})
    title = f"Near voice {'off' if chosen.without else 'on'}, seed {chosen.seed}"
    table = Table("room", "answered", "onset ms", "late ms", "forwarded", "false turns", title=title)
    costs: list[float] = []
    for name, room, below_db in ROOMS:
        row = Row()
        for draw in _draws(chosen.seed, chosen.callers):
            scene = draw.questions(room, below_db)
            heard = listened(scene, settings)
            row.add(scene, heard)
            costs += heard.us
        table.add_row(f"{name}, {below_db:.0f} dB" if room else name, *row.cells())
    Console().print(table)
    table = Table("a minute beside a caller who is silent", "false turns a minute")
    for name, room, below_db in ALONE:
        false_turns = [
            _false_turns(draw.alone(room, below_db), settings) for draw in _draws(chosen.seed, chosen.callers)
        ]
        table.add_row(f"{name}, {below_db:.0f} dB", f"{np.mean(false_turns):.1f}")
    Console().print(table)
    beside = [each for draw in _draws(chosen.seed, chosen.callers) for each in _beside(draw.beside(), settings)]
    kept = [right for kind, right in beside if kind == "interruption"]
    told = [right for kind, right in beside if kind == "aside"]
    Console().print(
        f"interruptions kept {np.mean(kept):.1%} of {len(kept)}, asides told apart {np.mean(told):.1%} of {len(told)}"
    )
    Console().print(f"endpointing costs {np.mean(costs):.0f} µs a frame on average, detector included")


def listened(scene: Scene, settings: VadSettings) -> Heard:
    """Run endpointing as a call has it over a scene."""
    endpointing = open_endpointing(settings)
    assert isinstance(endpointing, LocalEndpointing)
    heard, waiting, began = Heard(), [], 0.0
    for number, frame in scene.frames:
        now = (number + 1.0) * FRAME_MS
        waiting.append((now - FRAME_MS, frame))
        started = perf_counter_ns()
        pieces = endpointing.process(frame)
        heard.us.append((perf_counter_ns() - started) / 1000)
        count = 0
        for piece in pieces:
            if isinstance(piece, bytes):
                count += 1
            elif isinstance(piece, SpeechStarted):
                began = now
            elif isinstance(piece, SpeechStopped):
                heard.utterances.append(Utterance(began, now, piece.voiced_ms))
        if count:
            heard.forwarded += [at for at, _ in waiting[-count:]]
            heard.muffled.append((now, endpointing.muffled))
    endpointing.close()
    return heard


def _false_turns(scene: Scene, settings: VadSettings) -> float:
    ended = scene.said[0][1]
    heard = listened(scene, settings)
    return sum(each.voiced >= TURN_MS for each in heard.utterances if each.began > ended) * 60 / ALONE_S


def _beside(scene: Scene, settings: VadSettings) -> Iterator[tuple[str, bool]]:
    heard = listened(scene, settings)
    for (began, ended), kind in zip(scene.said, scene.kinds, strict=True):
        its = [muffled for at, muffled in heard.muffled if began <= at <= ended + LATE_MS]
        own = any(each.began <= ended and each.ended >= began for each in heard.utterances)
        if kind == "interruption":
            yield kind, own and not any(its[: READ_MS // FRAME_MS][-1:])
        elif kind == "aside":
            yield kind, not own or any(its[-1:])


def _draws(seed: int, callers: int) -> Iterator[_Drawing]:
    families = [family for family in voices.families() if family != "hibari"]
    for number in range(callers):
        yield _Drawing(families[number % len(families)], random.Random(f"{seed} {number}"))


class _Drawing:
    """One caller, in one room after another."""

    def __init__(self, family: str, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = np.random.default_rng(chance.getrandbits(32))
        self._voice = voices.drawn(family, chance)
        self._dbfs = chance.uniform(-30, -20)

    def questions(self, room: str | None, below_db: float) -> Scene:
        """Some questions, with time for an answer after each."""
        asked = self._chance.sample(texts.QUESTIONS, QUESTIONS)
        return self._scene([("question", self._said(text)) for text in asked], room, below_db, rest_s=4.5)

    def alone(self, room: str, below_db: float) -> Scene:
        """One question, then a minute of somebody else."""
        asked = self._said(self._chance.choice(texts.QUESTIONS))
        return self._scene([("question", asked)], room, below_db, rest_s=ALONE_S, only_after=True)

    def beside(self) -> Scene:
        """Two questions, from which the voice is known; then interruptions and asides."""
        said = [("question", self._said(text)) for text in self._chance.sample(texts.QUESTIONS, 2)]
        spoken = [
            ("interruption", self._said(text))
            for text in self._chance.sample((*texts.COMMANDS, *texts.INTERRUPTIONS), 6)
        ]
        spoken += [("aside", self._aside(text)) for text in self._chance.sample(texts.ASIDES, 5)]
        self._chance.shuffle(spoken)
        return self._scene(said + spoken, None, 0, rest_s=3.0)

    def _said(self, text: str) -> Sound:
        return voices.at_level(voices.say(self._voice, [text.split()])[0], self._dbfs)

    def _aside(self, text: str) -> Sound:
        return sounds.muffled(self._said(text), self._chance.uniform(900, 1500), self._chance.uniform(6, 10))

    def _scene(
        self,
        said: Sequence[tuple[str, Sound]],
        room: str | None,
        below_db: float,
        rest_s: float,
        only_after: bool = False,
    ) -> Scene:
        at = round(self._chance.uniform(2.0, 3.5) * SAMPLE_RATE)
        placed: list[tuple[int, Sound]] = []
        for _, sound in said:
            placed.append((at, sound))
            at += len(sound) + round((rest_s + self._chance.uniform(0, 0.5)) * SAMPLE_RATE)
        whole = sounds.quiet_room(at, HISS_DBFS, self._numbers)
        if room is not None:
            others = self._room(room, at) * 10 ** ((self._dbfs - below_db + 24) / 20)
            whole += others * (np.arange(at) > placed[0][0] + len(placed[0][1]) + SAMPLE_RATE) if only_after else others
        for begin, sound in placed:
            whole[begin : begin + len(sound)] += sound
        spans = [(begin * 1000 / SAMPLE_RATE, (begin + len(sound)) * 1000 / SAMPLE_RATE) for begin, sound in placed]
        frames = through_codec(whole * 32768, pauses=False)
        return Scene(frames, spans, [kind for kind, _ in said], at / SAMPLE_RATE / 60)

    def _room(self, room: str, length: int) -> Sound:
        if room == "music":
            made = sounds.music(length, self._numbers)
        else:
            names = self._chance.sample([name for name in voices.ESPEAK if name != self._voice.name], 6)
            people = [Voice("espeak", name, pitch=self._chance.randint(20, 80)) for name in names]
            if "flite" in voices.families():
                names = self._chance.sample([name for name in voices.FLITE if name != self._voice.name], 3)
                people = [Voice("flite", name) for name in names] + people[:3]
            self._chance.shuffle(people)
            people = people[: 1 if room == "talker" else None]
            public = self._chance.sample(texts.PUBLIC_SPEECH, OTHERS)
            said = [voices.say(people[n % len(people)], [text.split()])[0] for n, text in enumerate(public)]
            mixed: Callable[[list[Sound], int, np.random.Generator], Sound]
            mixed = sounds.talker if room == "talker" else sounds.babble
            made = mixed(said, length, self._numbers)
        return voices.at_level(made, -24)


def _spread(values: Sequence[float]) -> str:
    return f"{np.median(values):.0f} ({np.quantile(values, 0.9):.0f})" if values else "–"


if __name__ == "__main__":
    main()
