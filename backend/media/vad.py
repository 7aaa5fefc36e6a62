"""Voice activity detection: how likely it is that a frame is speech.

Two engines stand behind one protocol: Silero (`vad_silero`), the default, and TEN VAD (`vad_ten`). Both score hops of
their own length; `HopVad` feeds them 20 ms frames and keeps the last score between hops. An engine's library or model
is loaded once and shared; a call has only a small state of its own.

`RestingVad` spares an engine what is known without it, since it costs more than everything else done to a frame:

- A frame no louder than the room is not speech (`RoomGate`). The engine gets it only if speech follows soon, and
  speech ends at the first quiet frame instead of when the engine has made up its mind. The room's level is followed:
  down immediately, up by `RISE_DB` a frame, since the quietest of the last seconds is the room even during speech
  (there are 20 ms without a voice in any second of speech), and never above `LOUDEST_ROOM_DBFS`: a fan must not make
  the server deaf. Where a caller's browser sends nothing in a pause, the room is measured twice in 420 ms, and has had
  as long to become louder. A frame is judged by its last `JUDGED_MS`: Opus decodes 6.5 ms late and rings for about 5,
  so that the last sound of an utterance spills into the frame after it, which judged whole was loud. Shorter than the
  period of a low voice (12.5 ms at 80 Hz), that still meets the ringing of the mouth between two pulses.
- In the middle of a sentence the engine says the same again and again: "speech, 0.99 and more" (`Certainty`). An end,
  even one in a noisy room, is a fall of the level first. So a frame that is not much quieter than the voice passes
  unasked, but never more than `UNASKED_FRAMES` in a row: what follows a voice immediately and is as loud (a vacuum
  cleaner) is found out by asking, and after an answer below `SURE` every frame is asked about until the engine is sure.
  What passes unasked the engine never gets: handing it in later costs most of what was saved, and found no end sooner
  than 10 ms.

How soon onsets and ends are found, and how often a sentence is cut in two, stands in benchmarks/NOTES.md.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator
from math import log10
from typing import Literal, Protocol

from backend.media.frame import BYTES_PER_MS, FRAME_BYTES, FRAME_MS, SAMPLE_RATE, SILENCE, Frame
from backend.media.resample import Resampler

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it left Python with 3.13, and lives on in audioop-lts
    from audioop import rms

CATCH_UP_FRAMES = 11
"""Frames before an onset that an engine which has rested is given after all: 220 ms."""
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
"""The score from which speech surely goes on: an engine's scores fall slowly after a voice."""
NEAR_DB = 6.0
"""Decibels by which a frame may be quieter than the voice and pass unasked."""
FALL_DB = 0.5
"""Decibels by which the voice is taken to become quieter with each frame: 25 a second."""
UNASKED_FRAMES = 2
"""Frames in a row that pass unasked: the answer is at most 60 ms old."""

EngineName = Literal["ten", "silero"]


class Vad(Protocol):
    """One caller's detector."""

    name: str
    """The engine's name: 'ten' or 'silero'."""

    def score(self, frame: Frame) -> float:
        """Return the probability of speech (0 to 1) as of this frame; the last score stands until a hop is complete."""
        ...

    def close(self) -> None:
        """Release what is native. Safe to call twice."""
        ...


class Engine(Protocol):
    """A model that scores one hop of mono PCM16 at a time, for `HopVad`."""

    name: EngineName
    rate: int
    """Samples per second it takes."""
    hop_bytes: int
    context_bytes: int
    """Bytes of the sound before a hop that it is given with it."""

    def score_hop(self, pcm: bytes) -> float:
        """Return the probability of speech in the next hop: `context_bytes`, then `hop_bytes`."""
        ...

    def peek(self, pcm: bytes) -> float:
        """Score a hop that is not the next one and forget it immediately; 0 where an engine cannot."""
        ...

    def close(self) -> None:
        """Release what is native. Safe to call twice."""
        ...


class RestingVad(Vad):
    """A detector that rests while its caller's microphone is no louder than the room, and where the answer is known.

    At speech it first catches up with the last sound that it has not heard: pauses within a word are as if it
    had never rested, and an onset is met with the same recent past. What it skips within speech it never gets.
    """

    def __init__(self, vad: HopVad, gate: RoomGate) -> None:
        self.name = vad.name
        self._vad = vad
        self._gate = gate
        self._certainty = Certainty()
        self._unheard: deque[Frame] = deque(maxlen=CATCH_UP_FRAMES)

    def __repr__(self) -> str:
        return f"RestingVad({self._vad!r}, {self._gate!r}, {self._certainty!r})"

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

    def close(self) -> None:
        self._vad.close()


class HopVad(Vad):
    """A detector made of an engine: gives frames the engine's rate and cuts them into its hops.

    Hops do not end where frames do. Between utterances each frame therefore also gets a look at the hop that ends with
    it: an onset is found up to a hop earlier, and depends less on where the hops happen to lie.
    """

    def __init__(self, engine: Engine, sure: float = 1.0) -> None:
        """Take an engine; `sure` is the probability from which a frame is speech."""
        self.name: str = engine.name
        self._engine = engine
        self._sure = sure
        self._resampler = None if engine.rate == SAMPLE_RATE else Resampler(SAMPLE_RATE, engine.rate)
        self._window = engine.context_bytes + engine.hop_bytes
        self._short_of_hop = max(0, engine.hop_bytes - 2 * engine.rate * FRAME_MS // 1000)
        self._window_pcm = bytearray(self._window)  # the last hop scored with its context; then what is to be scored
        self._score = 0.0
        self._frames_since_speech = PEEK_AFTER_FRAMES

    def score(self, frame: Frame) -> float:
        """Return the probability of speech; where a frame completes several hops, the highest of their scores."""
        self.feed(frame)
        if self._frames_since_speech <= PEEK_AFTER_FRAMES or len(self._window_pcm) == self._window:
            return self._score
        return max(self._score, self._engine.peek(bytes(self._window_pcm[-self._window :])))

    def feed(self, frame: Frame) -> None:
        """Take in a frame as `score` does, without a look between the hops."""
        self._window_pcm += frame if self._resampler is None else self._resampler.push(frame)
        if len(self._window_pcm) >= self._window + self._engine.hop_bytes:
            self._score = max(self._hops())
        self._frames_since_speech = 0 if self._score >= self._sure else self._frames_since_speech + 1

    def skip(self, frame: Frame) -> float:
        """Let a frame pass, keeping as much as makes a hop together with the next one."""
        self._window_pcm += frame if self._resampler is None else self._resampler.push(frame)
        del self._window_pcm[: -(self._window + self._short_of_hop)]
        return self._score

    def _hops(self) -> Iterator[float]:
        pcm, hop = self._window_pcm, self._engine.hop_bytes
        while len(pcm) >= self._window + hop:
            del pcm[:hop]
            yield self._engine.score_hop(bytes(pcm[: self._window]))

    def close(self) -> None:
        self._engine.close()


class RoomGate:
    """Follows how loud one caller's room is. Pure: levels in, a decision out."""

    def __init__(self) -> None:
        self.room_dbfs = SILENT_DBFS
        """The level the room is taken to have, in dB of full scale."""
        self._paused = 0

    def __repr__(self) -> str:
        return f"RoomGate(room {self.room_dbfs:.0f} dBFS)"

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

    def __repr__(self) -> str:
        return f"Certainty(voice {self._voice:.0f} dBFS{', sure' if self._sure else ''})"

    def holds(self, dbfs: float) -> bool:
        """Return whether a frame of this level is surely speech like those before, and follow the voice."""
        self._voice = max(dbfs, self._voice - FALL_DB)
        known = self._sure and dbfs > self._voice - NEAR_DB and self._unasked < UNASKED_FRAMES
        self._unasked = self._unasked + 1 if known else 0
        return known

    def learn(self, score: float) -> None:
        """Note the score of a frame that was asked about."""
        self._sure = score >= SURE
