"""Whether our own voice, back in a caller's microphone, interrupts us: `python -m benchmarks.echo`.

Scenes drawn from `--seed`, in five parts. Replies of at least five seconds by one voice, callers by another (those of
`benchmarks.turn_sense`), both through Opus as in a call; rooms by a direct sound and a decaying tail; the
detector and the endpointing of a call. Delays are 60, 150 or 300 ms of the device and 60 to 200 ms of the network.

- *echo alone*: two replies come back 6 to 30 dB quieter and nobody speaks. An utterance with 560 ms of voice would
  interrupt; one with 280 ms would have, before interruptions were decided by words; a *dip* is any onset;
- *over an echo*: the caller speaks over such a reply. Heard: an utterance with 560 ms of voice begins within what they
  say, or any where the same voice alone has none so long. Later: by how much its onset comes after that of the voice
  alone. Lost: its level in the frames in which it sounds;
- *no echo*: the caller speaks over the reply twice, and in half of the scenes repeats its words in another voice;
- *soon after*: nor is there one where the caller speaks 0.1 to 1 s after a short reply, of a few words or a tone: ten
  such exchanges a scene;
- *cost*: CPU time of the guard, in calls with an echo and in calls in which nobody speaks over the reply.

It stops at `--most-s`, with fewer scenes than asked for.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.table import Table

from backend.media.echo import CancellingEchoGuard, NoEchoGuard, load_canceller
from backend.media.endpointing import open_endpointing
from backend.media.frame import FRAME_MS, SAMPLE_RATE, SILENCE, Frame
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.settings.vad import VadSettings
from backend.turns.events import SpeechStarted, SpeechStopped
from benchmarks.speech import frames as cut
from benchmarks.turn_sense.texts import INTERRUPTIONS, SENTENCES, SHORT_ANSWERS
from benchmarks.turn_sense.voices import Sound, Voice, at_level, drawn, families, say

REPLY_DBFS = -24.0
INTERRUPTS_MS = 560
INTERRUPTED_MS = 280
AFTER_FRAMES = 50
EXCHANGES = 10
BEFORE_MS = 300
"""How much sooner than the caller's voice an onset may come and still be its own."""
Guard = CancellingEchoGuard | NoEchoGuard


@dataclass(frozen=True, slots=True)
class Room:
    """How a loudspeaker's sound comes back in a microphone."""

    delay_ms: int
    loss_db: float
    """Echo return loss; infinite: no echo."""
    decay_s: float
    """RT60."""
    direct_db: float
    """Of the direct sound over the tail."""
    noise_dbfs: float
    distorts: bool


@dataclass
class Heard:
    """What the endpointing made of one microphone."""

    frames: list[Frame]
    utterances: list[tuple[int, int]]
    """Beginning and voiced time, in ms."""
    guard_s: float


@dataclass
class Results:
    """What is counted over all scenes."""

    replies: int = 0
    interrupted: int = 0
    interrupted_soon: int = 0
    dips: int = 0
    found: int = 0
    found_ms: list[int] = field(default_factory=list)
    over: int = 0
    heard: int = 0
    later_ms: list[int] = field(default_factory=list)
    lost_db: list[float] = field(default_factory=list)
    clear: int = 0
    falsely: int = 0
    touched: int = 0
    soon: dict[str, int] = field(default_factory=lambda: {"words": 0, "tone": 0})
    soon_falsely: dict[str, int] = field(default_factory=lambda: {"words": 0, "tone": 0})
    cost_with: list[float] = field(default_factory=list)
    cost_without: list[float] = field(default_factory=list)


def draw_room(chance: random.Random) -> Room:
    return Room(
        delay_ms=chance.choice((60, 150, 300)) + chance.randint(60, 200),
        loss_db=chance.uniform(6, 30),
        decay_s=chance.choice((0.15, 0.3, 0.6)),
        direct_db=chance.choice((6, 0, -4)),
        noise_dbfs=chance.choice((-75, -65)),
        distorts=chance.random() < 0.25,
    )


def through_opus(sound: Sound) -> Sound:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    pcm = b"".join(decoder.decode(encoder.encode(frame)) for frame in frames(sound))
    return np.frombuffer(pcm, "<i2") / 32768


def frames(sound: Sound) -> list[Frame]:
    return cut(np.round(np.clip(sound, -1, 1) * 32767).astype("<i2").tobytes())


def microphone(played: Sound, near: Sound, room: Room, seed: int) -> list[Frame]:
    """What the server receives of a caller's `near` voice in a room in which `played` is heard."""
    chance = np.random.default_rng(seed)
    length = max(len(played), len(near)) + SAMPLE_RATE
    mixed = 10 ** (room.noise_dbfs / 20) * chance.standard_normal(length)
    mixed[: len(near)] += near
    if room.loss_db < np.inf:
        heard = through_opus(played)
        heard = np.tanh(2 * heard) / 2 if room.distorts else heard
        count = round(room.decay_s * SAMPLE_RATE)
        tail = chance.standard_normal(count) * np.exp(-6.9 * np.arange(count) / count)
        tail[:48] = 0
        tail *= 10 ** (-room.direct_db / 20) / np.sqrt(tail @ tail)
        tail[0] = 1
        tail *= 10 ** (-room.loss_db / 20) / np.sqrt(tail @ tail)
        size = 1 << (len(heard) + count).bit_length()
        echo = np.fft.irfft(np.fft.rfft(heard, size) * np.fft.rfft(tail, size), size)
        begins = room.delay_ms * SAMPLE_RATE // 1000
        mixed[begins:] += echo[: length - begins]
    return frames(through_opus(mixed))


def listen(guard: Guard, played: Sound, received: list[Frame]) -> Heard:
    """Let a call go on: one frame out, one in, every 20 ms."""
    playing: Iterator[Frame | None] = (frame if any(frame) else None for frame in frames(played))
    endpointing = open_endpointing(VadSettings.model_validate({}))
    heard = Heard([], [], 0.0)
    begun = 0
    for number, frame in enumerate(received + [SILENCE] * AFTER_FRAMES):
        out = next(playing, None)
        before = time.thread_time()
        guard.played(out)
        cleaned = guard.clean(frame)
        heard.guard_s += time.thread_time() - before
        heard.frames.append(cleaned)
        for event in endpointing.process(cleaned):
            if isinstance(event, SpeechStarted):
                begun = number * FRAME_MS
            elif isinstance(event, SpeechStopped):
                heard.utterances.append((begun, event.voiced_ms))
    endpointing.close()
    return heard


class Scenes:
    """Draws scenes and counts what becomes of them."""

    def __init__(self, seed: int, *, verbose: bool) -> None:
        self.results = Results()
        self._verbose = verbose
        self._chance = random.Random(seed)
        make_canceller = load_canceller()
        if make_canceller is None:
            sys.exit("pywebrtc-audio is not installed.")
        self._make_canceller = make_canceller

    def echo_alone(self) -> None:
        room, (ours, _) = draw_room(self._chance), self._voices()
        played = np.concatenate((self._reply(ours), np.zeros(SAMPLE_RATE), self._reply(ours)))
        received = microphone(played, np.zeros(0), room, self._chance.getrandbits(30))
        guard = CancellingEchoGuard(self._make_canceller)
        heard = listen(guard, played, received)
        results = self.results
        results.replies += 2
        results.dips += len(heard.utterances)
        results.interrupted += sum(voiced >= INTERRUPTS_MS for _, voiced in heard.utterances)
        results.interrupted_soon += sum(voiced >= INTERRUPTED_MS for _, voiced in heard.utterances)
        results.found += guard.delay_ms is not None
        if any(voiced >= INTERRUPTED_MS for _, voiced in heard.utterances):
            self._tell("interrupted", ours, room, guard, heard.utterances)
        results.cost_with.append(heard.guard_s / len(heard.frames) * 50)

    def over_an_echo(self) -> None:
        room, (ours, theirs) = draw_room(self._chance), self._voices()
        played = np.concatenate((self._reply(ours), np.zeros(SAMPLE_RATE // 2), self._reply(ours)))
        voice = at_level(self._say(theirs, INTERRUPTIONS), self._chance.uniform(-32, -22))
        at = self._chance.randint(1500, 6000) * SAMPLE_RATE // 1000
        near = np.concatenate((np.zeros(at), voice))
        received = microphone(played, near, room, self._chance.getrandbits(30))
        heard = listen(CancellingEchoGuard(self._make_canceller), played, received)
        alone = microphone(np.zeros(0), near, Room(0, np.inf, 0, 0, room.noise_dbfs, False), 1)
        only = listen(NoEchoGuard(), np.zeros(0), alone)
        results = self.results
        results.over += 1
        begins, ends = at * 1000 // SAMPLE_RATE, len(near) * 1000 // SAMPLE_RATE
        during = [each for each in heard.utterances if begins - BEFORE_MS <= each[0] <= ends]
        is_heard = any(voiced >= INTERRUPTS_MS for _, voiced in during) or (
            max((voiced for _, voiced in only.utterances), default=0) < INTERRUPTS_MS and bool(during)
        )
        results.heard += is_heard
        if not is_heard:
            self._tell("not heard", theirs, room, begins, heard.utterances, "alone", only.utterances)
        if during and only.utterances:
            results.later_ms.append(during[0][0] - only.utterances[0][0])
        power, whole = (_powers(each[begins // FRAME_MS : ends // FRAME_MS]) for each in (heard.frames, alone))
        loud = whole > whole.max() / 100
        results.lost_db.append(float(10 * np.log10(whole[loud].sum() / power[: len(whole)][loud].sum())))

    def no_echo(self) -> None:
        (ours, theirs), repeats = self._voices(), self._chance.random() < 0.5
        words = self._words(SENTENCES, 3)
        played = at_level(say(ours, [words])[0], REPLY_DBFS)
        over = say(theirs, [words])[0] if repeats else self._say(theirs, INTERRUPTIONS)
        lead = np.zeros(self._chance.randint(300, 1200) * SAMPLE_RATE // 1000)
        over = at_level(np.concatenate((lead, over)), self._chance.uniform(-32, -18))
        near = np.concatenate((over, lead, at_level(self._say(theirs, INTERRUPTIONS), -24)))
        room = Room(0, np.inf, 0, 0, self._chance.choice((-75, -65)), False)
        received = microphone(played, near, room, self._chance.getrandbits(30))
        guard = CancellingEchoGuard(self._make_canceller)
        heard = listen(guard, played, received)
        self.results.clear += 1
        self.results.falsely += guard.delay_ms is not None
        if guard.delay_ms is not None:
            self._tell("found where there is none", ours, theirs, guard)
        self.results.touched += any(a is not b for a, b in zip(heard.frames, received, strict=False))

    def soon_after(self) -> None:
        """Short replies, and what is said after each of them: only the guard is asked."""
        for number in range(EXCHANGES):
            kind = "tone" if number % 2 else "words"
            ours, theirs = self._voices()
            played = at_level(self._tone() if kind == "tone" else self._say(ours, SHORT_ANSWERS), REPLY_DBFS)
            silence = np.zeros(len(played) + self._chance.randint(100, 1000) * SAMPLE_RATE // 1000)
            near = at_level(np.concatenate((silence, self._say(theirs, SENTENCES))), -24)
            guard = CancellingEchoGuard(self._make_canceller)
            playing: Iterator[Frame | None] = iter(frames(played))
            for frame in frames(through_opus(near)):
                guard.played(next(playing, None))
                guard.clean(frame if any(frame) else SILENCE)
            self.results.soon[kind] += 1
            self.results.soon_falsely[kind] += guard.delay_ms is not None
            if guard.delay_ms is not None:
                self._tell("found soon after", kind, ours, theirs, guard)

    def _tone(self) -> Sound:
        time_s = np.arange(self._chance.randint(300, 1200) * SAMPLE_RATE // 1000) / SAMPLE_RATE
        return np.sin(2 * np.pi * self._chance.randint(300, 1200) * time_s)

    def silent_caller(self) -> None:
        """The cost without echo, in a call as most are: nobody speaks over the reply."""
        ours, _ = self._voices()
        played = self._reply(ours)
        room = Room(0, np.inf, 0, 0, -65, False)
        heard = listen(CancellingEchoGuard(self._make_canceller), played, microphone(played, np.zeros(0), room, 1))
        self.results.cost_without.append(heard.guard_s / len(heard.frames) * 50)

    def _tell(self, *failed: object) -> None:
        if self._verbose:
            print(*failed, flush=True)

    def _voices(self) -> tuple[Voice, Voice]:
        known = families()
        ours = drawn(self._chance.choice(known), self._chance)
        theirs = ours
        while theirs.name == ours.name:
            theirs = drawn(self._chance.choice(known), self._chance)
        return ours, theirs

    def _words(self, texts: tuple[str, ...], count: int) -> list[str]:
        return " ".join(self._chance.choice(texts) for _ in range(count)).split()

    def _say(self, voice: Voice, texts: tuple[str, ...], count: int = 1) -> Sound:
        return say(voice, [self._words(texts, count)])[0]

    def _reply(self, voice: Voice) -> Sound:
        sound = self._say(voice, SENTENCES, 2)
        while len(sound) < 5 * SAMPLE_RATE:
            sound = np.concatenate((sound, np.zeros(SAMPLE_RATE // 5), self._say(voice, SENTENCES)))
        return at_level(sound, REPLY_DBFS)


def _powers(received: list[Frame]) -> Sound:
    return np.array([np.mean(np.frombuffer(frame, "<i2").astype(float) ** 2) + 1e-3 for frame in received])


def show(results: Results) -> Table:
    table = Table("", "", title="Echo")
    alone, over = max(1, results.replies), max(1, results.over)
    rows = [
        ("echo alone: replies interrupted (560 ms of voice)", f"{results.interrupted} of {alone}"),
        ("… by 280 ms of voice", f"{results.interrupted_soon} of {alone}"),
        ("… onsets heard, a reply", f"{results.dips / alone:.2f}"),
        ("… calls in which it was found", f"{results.found} of {alone // 2}"),
        ("over an echo: callers heard", f"{results.heard} of {over}"),
        ("… onset later, ms, p50 / p95", _percentiles(results.later_ms)),
        ("… level lost, dB, p50 / p95", _percentiles(results.lost_db)),
        ("no echo: calls in which one was found", f"{results.falsely} of {max(1, results.clear)}"),
        ("… calls with a frame changed", f"{results.touched} of {max(1, results.clear)}"),
        *(
            (f"… in what is said soon after a reply: {kind}", f"{results.soon_falsely[kind]} of {max(1, count)}")
            for kind, count in results.soon.items()
        ),
        ("cost with an echo, ms for a second of call", _percentiles([1000 * each for each in results.cost_with])),
        ("cost without, ms for a second of call", _percentiles([1000 * each for each in results.cost_without], 2)),
    ]
    for name, figure in rows:
        table.add_row(name, figure)
    return table


def _percentiles(values: list[float] | list[int], digits: int = 1) -> str:
    if not values:
        return "–"
    return " / ".join(f"{value:.{digits}f}" for value in np.percentile(values, (50, 95)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", type=int, default=50, help="of each part")
    parser.add_argument("--most-s", type=float, default=600)
    parser.add_argument("--verbose", action="store_true", help="print each scene that failed")
    asked = parser.parse_args()
    scenes, began = Scenes(asked.seed, verbose=asked.verbose), time.monotonic()
    parts: list[Callable[[], None]] = [
        scenes.echo_alone,
        scenes.over_an_echo,
        scenes.no_echo,
        scenes.silent_caller,
    ]
    for part in parts * asked.scenes + [scenes.soon_after] * asked.scenes:
        if time.monotonic() - began < asked.most_s:
            part()
    Console().print(show(scenes.results))


if __name__ == "__main__":
    main()
