"""Voice activity detection: how likely it is that a frame is speech.

The network (`vad_silero`, or an extension's) scores hops of 32 ms. `HopVad` feeds it 20 ms frames and keeps the last
score between hops.

`RestingVad` spares the network what is known without it, since it costs more than everything else done to a frame:

- A frame no louder than the room is not speech (`RoomGate`). The network gets it only if speech follows soon, and
  speech ends at the first quiet frame instead of when the network has made up its mind. The room's level is followed:
  down immediately, up by `RISE_DB` a frame. For the quietest of the last seconds is the room even during speech: any
  second of speech has 20 ms without a voice. The level never exceeds `LOUDEST_ROOM_DBFS`: a fan must not make the
  server deaf. Where a caller's browser sends nothing in a pause, the room is measured twice in 420 ms, and has had as
  long to become louder. A frame is judged by its last `JUDGED_MS`: Opus decodes 6.5 ms late and rings for about 5, so
  that the last sound of an utterance spills into the frame after it, which judged whole was loud. Shorter than the
  period of a low voice (12.5 ms at 80 Hz), that still meets the ringing of the mouth between two pulses.
- In the middle of a sentence the network says the same again and again: "speech, 0.99 and more" (`Certainty`). An end,
  even one in a noisy room, is a fall of the level first. So a frame that is not much quieter than the voice passes
  unasked, but never more than `UNASKED_FRAMES` in a row. A sound that follows a voice immediately and is as loud (a
  vacuum cleaner) is found out by asking. After an answer below `SURE` every frame is asked about until it is
  sure. What passes unasked the network never gets: handing it in later costs most of what was saved, and found no end
  sooner than 10 ms.

How soon onsets and ends are found, and how often a sentence is cut in two, stands in benchmarks/NOTES.md.
"""

from __future__ import annotations

import warnings
from collections import deque
from math import log10
from typing import ClassVar, Protocol

from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, SILENCE, Frame

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it left Python with 3.13, and lives on in audioop-lts
    from audioop import rms

CATCH_UP_FRAMES = 11
"""Frames before an onset that a network which has rested is given after all: 220 ms."""
PEEK_AFTER_FRAMES = 15
"""300 ms without speech: looking twice at every frame finds an onset sooner, but would drag out an end."""
JUDGED_MS = 8
"""The end of a frame that is judged: "When a voice begins and ends" in benchmarks/NOTES.md has the measurements."""
ABOVE_ROOM_DB = 6.0
RISE_DB = 0.06
"""3 dB a second."""
LONGEST_PAUSE = 25
"""Frames without audio up to which the room may have become louder."""
SILENT_DBFS = -62.0
"""The level below which it is silent in any room: the weakest consonants of a quiet speaker are louder."""
LOUDEST_ROOM_DBFS = -38.0
_NOTHING_DBFS = -100.0
_JUDGED_FROM = FRAME_BYTES - JUDGED_MS * BYTES_PER_MS
SURE = 0.99
"""The score from which speech surely goes on: scores fall slowly after a voice."""
NEAR_DB = 6.0
"""Decibels by which a frame may be quieter than the voice and pass unasked."""
FALL_DB = 0.5
"""Decibels by which the voice is taken to become quieter with each frame: 25 a second."""
UNASKED_FRAMES = 2
"""Frames in a row that pass unasked: the answer is at most 60 ms old."""


class Vad(Protocol):
    """One caller's detector."""

    def score(self, frame: Frame) -> float:
        """Return the probability of speech (0 to 1) as of this frame; the last score stands until a hop is complete."""
        ...


class VadEngine(Protocol):
    """One caller's state of a network that scores PCM at 24 kHz, for `HopVad`."""

    name: ClassVar[str]
    onset: ClassVar[float]
    """The score from which a frame after silence counts as speech."""
    hop_bytes: int
    context_bytes: int
    """Bytes of the sound before a hop that it is given with it."""

    def score_hop(self, pcm: bytes) -> float:
        """Return the probability of speech in the next hop: its context, then the hop."""
        ...

    def peek(self, pcm: bytes) -> float:
        """Score a hop that is not the next one, and forget it; 0 where a network cannot."""
        ...


class RestingVad(Vad):
    """A detector that rests while its caller's microphone is no louder than the room, and where the answer is known.

    At speech it first catches up with the last sound that it has not heard: pauses within a word are as if it
    had never rested, and an onset is met with the same recent past. What it skips within speech it never gets.
    """

    def __init__(self, vad: HopVad, gate: RoomGate) -> None:
        self._vad = vad
        self._gate = gate
        self._certainty = Certainty()
        self._unheard: deque[Frame] = deque(maxlen=CATCH_UP_FRAMES)

    def score(self, frame: Frame) -> float:
        """Return the probability of speech: 0 for a frame no louder than the room, and for `SILENCE`."""
        if frame is SILENCE:
            self._gate.pause()
            return self._rest(frame)
        dbfs = level(frame)
        if not self._gate.opens(dbfs):
            return self._rest(frame)
        if self._certainty.holds(dbfs):
            return self._vad.skip(frame)
        while self._unheard:
            self._vad.feed(self._unheard.popleft())
        score = self._vad.score(frame)
        self._certainty.learn(score)
        return score

    def _rest(self, frame: Frame) -> float:
        if not self._unheard:
            self._certainty.learn(0.0)
        self._unheard.append(frame)
        return 0.0


class HopVad(Vad):
    """A detector that cuts frames into the network's hops.

    Hops do not end where frames do. Between utterances each frame therefore also gets a look at the hop that ends with
    it: an onset is found up to a hop earlier, and depends less on where the hops happen to lie.
    """

    def __init__(self, engine: VadEngine, sure: float = 1.0) -> None:
        """Take a call's state of the network; `sure` is the probability from which a frame is speech."""
        self._engine = engine
        self._sure = sure
        self._window = engine.context_bytes + engine.hop_bytes
        self._short_of_hop = max(0, engine.hop_bytes - FRAME_BYTES)
        self._window_pcm = bytearray(self._window)  # the last hop scored with its context; then what is to be scored
        self._score = 0.0
        self._frames_since_speech = PEEK_AFTER_FRAMES

    def score(self, frame: Frame) -> float:
        self.feed(frame)
        if self._frames_since_speech <= PEEK_AFTER_FRAMES or len(self._window_pcm) == self._window:
            return self._score
        return max(self._score, self._engine.peek(bytes(self._window_pcm[-self._window :])))

    def feed(self, frame: Frame) -> None:
        """Take in a frame as `score` does, without a look between the hops."""
        pcm = self._window_pcm
        pcm += frame
        if len(pcm) >= self._window + self._engine.hop_bytes:
            del pcm[: self._engine.hop_bytes]
            self._score = self._engine.score_hop(bytes(pcm[: self._window]))
        self._frames_since_speech = 0 if self._score >= self._sure else self._frames_since_speech + 1

    def skip(self, frame: Frame) -> float:
        """Let a frame pass, keeping as much as makes a hop together with the next one."""
        self._window_pcm += frame
        del self._window_pcm[: -(self._window + self._short_of_hop)]
        return self._score


class RoomGate:
    """Follows how loud one caller's room is. Pure: levels in, a decision out."""

    def __init__(self) -> None:
        self.room_dbfs = SILENT_DBFS
        """The level the room is taken to have, in dB of full scale."""
        self._paused = 0

    def opens(self, dbfs: float) -> bool:
        """Return whether a frame of this level stands out of the room, and follow the room."""
        loud = dbfs > self.room_dbfs + ABOVE_ROOM_DB and dbfs > SILENT_DBFS
        self.room_dbfs = min(dbfs, self.room_dbfs + RISE_DB * (1 + self._paused), LOUDEST_ROOM_DBFS)
        self._paused = 0
        return loud

    def pause(self) -> None:
        """Note a frame that was not sent."""
        self._paused = min(self._paused + 1, LONGEST_PAUSE)


def level(frame: Frame) -> float:
    """Return the root mean square of a frame's last `JUDGED_MS`, in dB of full scale; -100 for nothing.

    By whole sample values, down to -90: where it matters, at -62, that is a third of a decibel. By numpy it would take
    five times as long.
    """
    loudness = rms(frame[_JUDGED_FROM:], 2)
    return 20 * log10(loudness / 32768) if loudness else _NOTHING_DBFS


class Certainty:
    """Follows how sure it is that one caller goes on speaking. Pure: levels and scores in."""

    def __init__(self) -> None:
        self._voice = _NOTHING_DBFS
        self._sure = False
        self._unasked = 0

    def holds(self, dbfs: float) -> bool:
        """Return whether a frame of this level is surely speech like those before, and follow the voice."""
        self._voice = max(dbfs, self._voice - FALL_DB)
        known = self._sure and dbfs > self._voice - NEAR_DB and self._unasked < UNASKED_FRAMES
        self._unasked = self._unasked + 1 if known else 0
        return known

    def learn(self, score: float) -> None:
        """Note the score of a frame that was asked about."""
        self._sure = score >= SURE
