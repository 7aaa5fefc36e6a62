"""Voice activity detection: how likely it is that a frame is speech.

The network (`vad_silero`, or an extension's) scores hops of 32 ms. `HopVad` feeds it 20 ms frames and keeps the last
score between hops.

The network costs more than all other work on a frame, so `RestingVad` spares it frames that are known without it:

- A frame no louder than the room is not speech (`RoomGate`). The network gets it only if speech follows soon, and
  speech ends at the first quiet frame instead of some frames later by the network's score. The room's level follows
  quieter frames immediately, and rises by `RISE_DB` a frame: the quietest of the last seconds is the room even during
  speech, since any second of speech has 20 ms without a voice. The level never exceeds `LOUDEST_ROOM_DBFS`: a fan must
  not make the server deaf. Where a caller's browser sends nothing in a pause, the room is measured twice in 420 ms, and
  may have become louder for that long. A frame is judged by its last `JUDGED_MS`: Opus decodes 6.5 ms late and rings
  for about 5, so that the last sound of an utterance spills into the next frame, which would be loud as a whole. This
  is shorter than the period of a low voice (12.5 ms at 80 Hz), but the mouth rings on between two pulses.
- In the middle of a sentence the network repeats one answer: "speech, 0.99 and more" (`Certainty`). An end, even in a
  noisy room, begins with a fall of the level. So a frame that is not much quieter than the voice passes without a
  score, but never more than `UNASKED_FRAMES` in a row: the next score shows a sound that follows a voice immediately
  and is as loud (a vacuum cleaner). After a score below `SURE` every frame is scored until the network is sure again.
  The network never gets frames that passed without a score: to hand them in later costs most of what was saved, and
  found no end sooner than 10 ms.

benchmarks/NOTES.md says how soon onsets and ends are found, and how often a sentence is cut in two.
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
"""The frames before an onset that the network gets after a rest: 220 ms."""
PEEK_AFTER_FRAMES = 15
"""The frames without speech, 300 ms, from which each is scored twice: that finds an onset sooner, but an end later."""
JUDGED_MS = 8
"""The end of a frame by which it is judged: see "When a voice begins and ends" in benchmarks/NOTES.md."""
ABOVE_ROOM_DB = 6.0
RISE_DB = 0.06
"""Decibels by which the room's level rises with each frame: 3 a second."""
LONGEST_PAUSE = 25
"""The most frames without audio for which the room may have become louder."""
SILENT_DBFS = -62.0
"""The level below which a frame is silent in any room: the weakest consonants of a quiet speaker are louder."""
LOUDEST_ROOM_DBFS = -38.0
_NOTHING_DBFS = -100.0
_JUDGED_FROM = FRAME_BYTES - JUDGED_MS * BYTES_PER_MS
SURE = 0.99
"""The score from which speech surely goes on: scores fall slowly after a voice."""
NEAR_DB = 6.0
"""Decibels by which a frame may be quieter than the voice and pass without a score."""
FALL_DB = 0.5
"""Decibels by which the followed level of the voice falls with each frame: 25 a second."""
UNASKED_FRAMES = 2
"""The most frames in a row that pass without a score: the last score is at most 60 ms old."""


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
    """The bytes of sound before a hop that the network gets with it."""

    def score_hop(self, pcm: bytes) -> float:
        """Return the probability of speech in the next hop: its context, then the hop."""
        ...

    def peek(self, pcm: bytes) -> float:
        """Score a hop that is not the next one, and forget it; return 0 if the network cannot do that."""
        ...


class RestingVad(Vad):
    """A detector that rests while its caller's microphone is no louder than the room, and where the score is known.

    When speech may begin, the network first gets the latest frames that it has missed, so that pauses within a word and
    onsets are scored as if it had never rested. It never gets the frames that are skipped within speech.
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

    Hops do not end where frames do. Between utterances the hop that ends with each frame is therefore scored as well:
    an onset is found up to a hop earlier, and depends less on the position of the hops.
    """

    def __init__(self, engine: VadEngine, sure: float = 1.0) -> None:
        """`engine` is a call's state of the network; `sure` is the probability from which a frame is speech."""
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
        """Take in a frame as `score` does, without scoring between the hops."""
        pcm = self._window_pcm
        pcm += frame
        if len(pcm) >= self._window + self._engine.hop_bytes:
            del pcm[: self._engine.hop_bytes]
            self._score = self._engine.score_hop(bytes(pcm[: self._window]))
        self._frames_since_speech = 0 if self._score >= self._sure else self._frames_since_speech + 1

    def skip(self, frame: Frame) -> float:
        """Let a frame pass without a score, and keep as much as makes a hop together with the next frame."""
        self._window_pcm += frame
        del self._window_pcm[: -(self._window + self._short_of_hop)]
        return self._score


class RoomGate:
    """Follows the level of one caller's room. Pure: levels in, a decision out."""

    def __init__(self) -> None:
        self.room_dbfs = SILENT_DBFS
        """The followed level of the room, in dB of full scale."""
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
    """Return the root mean square of a frame's last `JUDGED_MS`, in dB of full scale; -100 for silence.

    It is computed in whole sample values, down to -90 dB: at -62, where it matters, the error is a third of a decibel.
    numpy would take five times as long.
    """
    loudness = rms(frame[_JUDGED_FROM:], 2)
    return 20 * log10(loudness / 32768) if loudness else _NOTHING_DBFS


class Certainty:
    """Decides whether one caller surely goes on speaking. Pure: levels and scores in."""

    def __init__(self) -> None:
        self._voice = _NOTHING_DBFS
        self._sure = False
        self._unasked = 0

    def holds(self, dbfs: float) -> bool:
        """Return whether a frame of this level is surely speech like those before, and follow the voice."""
        self._voice = max(dbfs, self._voice - FALL_DB)
        known = self._sure and dbfs > self._voice - NEAR_DB and self._unasked < UNASKED_FRAMES
        self._unasked = self._unasked + 1 if known else 0  # the level falls first when a voice ends
        return known

    def learn(self, score: float) -> None:
        """Note the score of a frame."""
        self._sure = score >= SURE
