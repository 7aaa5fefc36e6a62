"""Voice activity detection: how likely is it that a frame is speech?

Two engines stand behind one protocol: Silero (`vad_silero`), the default, and TEN VAD (`vad_ten`). Both score hops of
their own length; `HopVad` feeds them 20 ms frames and keeps the last score between hops. An engine's library or model
is loaded once and shared; a call has only a small state of its own.

`RestingVad` spares them the silence: a frame no louder than the room (`gate`) is not speech, and the detector hears of
it only if somebody speaks soon after. So it works half of the time, and the end of speech is told at the first quiet
frame instead of when the detector has made up its mind.

Measured on 15 short synthetic sentences of four voices each, through the codec, threshold 0.7, 32 ms hops; median
milliseconds from the first sound to the onset, and from the last sound to the first silent frame (in brackets: nine of
ten are within), and what was missed or cut in two:

                      TEN alone                        Silero alone                Silero, resting and peeking
    clean             120 (214), 41 (62)               85 (155), 57 (82), 1 cut    65 (136), 19 (27), 1 cut
    20 dB quieter     137 (307), 43 (65), 2 cut        116 (234), 70 (111), 2 cut  114 (221), -1 (14), 2 cut
    pink at -50 dBFS  115 (195), 35 (63), 2 cut        86 (167), 65 (95), 1 cut    67 (154), 10 (21), 2 cut
    pink at -35 dBFS  158 (521), 12 missed, 6 cut      111 (227), 74 (147)         96 (214), 74 (147)

In the last row the room is not known yet, so nothing rests.

Clicks, knocks, and white and pink noise of -25 and -30 dBFS start nothing with either.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, Protocol

from backend.audio.frame import SAMPLE_RATE, Frame
from backend.audio.gate import Gate, level
from backend.audio.resample import Resampler
from backend.errors import MissingLibrary
from backend.settings import VadSettings

log = logging.getLogger(__name__)

CATCH_UP_FRAMES = 11
"""What a detector that has rested hears of the time before somebody spoke: 220 ms."""

PEEK_AFTER_FRAMES = 15
"""300 ms without speech: looking twice at every frame finds an onset sooner, but would drag out an end."""

EngineName = Literal["ten", "silero"]


class Vad(Protocol):
    """One caller's detector."""

    @property
    def name(self) -> str:
        """Which engine: 'ten' or 'silero'."""
        ...

    def score(self, frame: Frame) -> float:
        """Probability of speech (0 to 1) as of this frame. The last score is kept until a hop is complete."""
        ...

    def reset(self) -> None:
        """Forget what was heard."""
        ...

    def close(self) -> None:
        """Release what is native. Safe to call twice."""
        ...


class Engine(Protocol):
    """What `HopVad` needs of a model: a score for one hop of mono PCM16."""

    @property
    def name(self) -> EngineName:
        """Which engine."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second it hears."""
        ...

    @property
    def hop_bytes(self) -> int:
        """Bytes in a hop."""
        ...

    @property
    def context_bytes(self) -> int:
        """Bytes of the sound before a hop that it is given with it."""
        ...

    def score_hop(self, pcm: bytes) -> float:
        """Probability of speech in the next hop: `context_bytes`, then `hop_bytes`."""
        ...

    def peek(self, pcm: bytes) -> float:
        """The same for a hop that is not the next one, and is forgotten at once; 0 where an engine cannot."""
        ...

    def reset(self) -> None:
        """Forget what was heard."""
        ...

    def close(self) -> None:
        """Release what is native. Safe to call twice."""
        ...


class HopVad:
    """Makes any engine a `Vad`: gives frames the engine's rate and cuts them into its hops.

    Hops do not end where frames do. Between utterances each frame therefore also gets a look at the hop that ends with
    it: an onset is told up to a hop earlier, and depends less on where the hops happen to lie.
    """

    def __init__(self, engine: Engine, sure: float = 1.0) -> None:
        """`sure`: the probability from which a frame is speech."""
        self._engine = engine
        self._sure = sure
        self._resampler = Resampler(SAMPLE_RATE, engine.rate)
        self._window = engine.context_bytes + engine.hop_bytes
        self._heard = bytearray(self._window)  # the last hop scored, its context in front; then what is to be scored
        self._score = 0.0
        self._frames_since_speech = PEEK_AFTER_FRAMES

    @property
    def name(self) -> str:
        """Which engine."""
        return self._engine.name

    def score(self, frame: Frame) -> float:
        """See `Vad`. Where a frame completes several hops, the highest of their scores counts."""
        heard, engine = self._heard, self._engine
        heard += self._resampler.push(frame)
        if len(heard) >= self._window + engine.hop_bytes:
            self._score = max(self._hops())
        if self._score >= self._sure:
            self._frames_since_speech = 0
            return self._score
        self._frames_since_speech += 1
        if self._frames_since_speech <= PEEK_AFTER_FRAMES or len(heard) == self._window:
            return self._score
        return max(self._score, engine.peek(bytes(heard[-self._window :])))

    def _hops(self) -> Iterator[float]:
        heard, hop = self._heard, self._engine.hop_bytes
        while len(heard) >= self._window + hop:
            del heard[:hop]
            yield self._engine.score_hop(bytes(heard[: self._window]))

    def reset(self) -> None:
        """See `Vad`."""
        self._engine.reset()
        self._resampler = Resampler(SAMPLE_RATE, self._engine.rate)
        self._heard = bytearray(self._window)
        self._score = 0.0
        self._frames_since_speech = PEEK_AFTER_FRAMES

    def close(self) -> None:
        """See `Vad`."""
        self._engine.close()


class RestingVad:
    """A detector that rests while its caller's microphone is no louder than the room.

    When somebody speaks it first catches up with the last of what it has not heard: pauses within a word are as if it
    had never rested, and an onset is met with the same recent past.
    """

    def __init__(self, vad: Vad, gate: Gate) -> None:
        self._vad = vad
        self._gate = gate
        self._unheard: deque[Frame] = deque(maxlen=CATCH_UP_FRAMES)

    def __repr__(self) -> str:
        return f"RestingVad({self._vad!r}, {self._gate!r})"

    @property
    def name(self) -> str:
        """Which engine."""
        return self._vad.name

    def score(self, frame: Frame) -> float:
        """See `Vad`; 0 for what is no louder than the room."""
        if not self._gate.opens(level(frame)):
            self._unheard.append(frame)
            return 0.0
        while self._unheard:
            self._vad.score(self._unheard.popleft())
        return self._vad.score(frame)

    def reset(self) -> None:
        """See `Vad`."""
        self._vad.reset()
        self._gate = Gate()
        self._unheard.clear()

    def close(self) -> None:
        """See `Vad`."""
        self._vad.close()


def make_vad(settings: VadSettings) -> Vad:
    """A detector for one call. Raises `MissingLibrary` where the engine asked for cannot run."""
    name = choose_engine(settings.engine)
    return RestingVad(HopVad(_BUILD[name](settings.vad_frame_ms), settings.threshold), Gate())


@cache
def choose_engine(wanted: Literal["auto", "ten", "silero"]) -> EngineName:
    """Load and try the engine wanted, once; `auto` takes Silero, else TEN VAD. Raises `MissingLibrary`.

    Call it at start-up, so that the first caller does not wait for a model.
    """
    if wanted != "auto":
        _try(wanted)
        log.info("VAD: %s, as set", wanted)
        return wanted
    try:
        _try("silero")
    except MissingLibrary as error:
        _try("ten")
        log.warning("VAD: ten, because Silero cannot run here: %s %s", error, error.hint)
        return "ten"
    log.info("VAD: silero, the default")
    return "silero"


def _try(name: EngineName) -> None:
    engine = _BUILD[name](32)
    engine.score_hop(bytes(engine.context_bytes + engine.hop_bytes))
    engine.close()


def _build_ten(hop_ms: int) -> Engine:
    from backend.audio.vad_ten import TenEngine

    return TenEngine(hop_ms)


def _build_silero(_hop_ms: int) -> Engine:
    from backend.audio.vad_silero import SileroEngine

    return SileroEngine()


_BUILD: dict[EngineName, Callable[[int], Engine]] = {"ten": _build_ten, "silero": _build_silero}
