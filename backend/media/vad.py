"""Voice activity detection: how likely is it that a frame is speech?

Two engines stand behind one protocol: Silero (`vad_silero`), the default, and TEN VAD (`vad_ten`). Both score hops of
their own length; `HopVad` feeds them 20 ms frames and keeps the last score between hops. An engine's library or model
is loaded once and shared; a call has only a small state of its own.

`RestingVad` spares them what is known without them. A frame no louder than the room (`gate`) is not speech: the
detector hears of it only if somebody speaks soon after, and the end of speech is told at the first quiet frame instead
of when the detector has made up its mind. In the middle of a sentence (`certainty`) it is asked in every third frame.

Measured by `python -m benchmarks.endpointing` (15 short synthetic sentences of four voices, three times each, through
the codec; threshold 0.7, 32 ms hops): median milliseconds from the first sound to the onset, and from the last sound
to the first silent frame (in brackets: nine of ten are within), and how many of 180 were cut in two. "Now" a frame is
judged by its end, sure speech asked about less often, and 0.5 is enough for an onset:

                      TEN alone             Silero alone          resting, before       now
    clean             118 (226), 52 (74)    88 (191), 63 (88)     58 (133), 39 (51)     46 (90), 28 (38)
                      9 cut                 7 cut                 4 cut                 4 cut
    20 dB quieter     151 (566), 56 (78)    112 (224), 73 (94)    98 (213), 16 (34)     88 (196), 12 (25)
                      3 cut                 5 cut                 13 cut                12 cut
    a third deeper    362 (1162), 19 (69)   170 (404), 28 (68)    124 (305), 33 (48)    75 (254), 23 (37)
                      49 cut, 7 missed      31 cut                34 cut                37 cut
    pink at -50 dBFS  112 (199), 50 (83)    82 (180), 68 (94)     58 (159), 22 (35)     51 (124), 18 (29)
                      8 cut                 6 cut                 7 cut                 7 cut
    pink at -42 dBFS  114 (201), 46 (84)    93 (200), 65 (98)     69 (162), 8 (26)      59 (145), 4 (24)
                      4 cut                 4 cut                 9 cut                 8 cut
    pink at -35 dBFS  156 (275), 26 (164)   89 (183), 76 (115)    73 (151), 76 (115)    64 (139), 81 (121)
                      19 cut                3 cut                 3 cut                 1 cut
    hops a second     31                    32                    50                    33

In the last room, which is not known yet, nothing rests. Noise as loud as the voice that is switched on the moment it
ends is told from it after 139 ms (202) where every frame is asked about, and 223 (293) now. Judging the last 12, 10 or
8 ms of a frame ended the clean row after 32, 31 or 28 ms and cut 73, 70 and 70 sentences of all, 70 judged whole.

Clicks, knocks, coughs, and white and pink noise of -25 and -30 dBFS start nothing with either. Silero gives none of
them more than 0.3; TEN VAD goes to 0.67, so with it an onset needs the threshold.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, Protocol

from backend.errors import MissingLibrary
from backend.media.certainty import Certainty
from backend.media.frame import FRAME_MS, SAMPLE_RATE, SILENCE, Frame
from backend.media.gate import Gate, level
from backend.media.resample import Resampler
from backend.settings.vad import VadSettings

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


class Skipper(Vad, Protocol):
    """A detector that can leave out frames of which nobody asks for a score."""

    def hear(self, frame: Frame) -> None:
        """Take in a frame whose own score does not matter."""
        ...

    def skip(self, frame: Frame) -> float:
        """Let a frame pass: the last score stands. The next to be scored brings along what it needs of the skipped."""
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
        self._short_of_hop = max(0, engine.hop_bytes - 2 * engine.rate * FRAME_MS // 1000)
        self._heard = bytearray(self._window)  # the last hop scored, its context in front; then what is to be scored
        self._score = 0.0
        self._frames_since_speech = PEEK_AFTER_FRAMES

    @property
    def name(self) -> str:
        """Which engine."""
        return self._engine.name

    def score(self, frame: Frame) -> float:
        """See `Vad`. Where a frame completes several hops, the highest of their scores counts."""
        self.hear(frame)
        if self._frames_since_speech <= PEEK_AFTER_FRAMES or len(self._heard) == self._window:
            return self._score
        return max(self._score, self._engine.peek(bytes(self._heard[-self._window :])))

    def hear(self, frame: Frame) -> None:
        """See `Skipper`: as `score`, without a look between the hops."""
        self._heard += self._resampler.push(frame)
        if len(self._heard) >= self._window + self._engine.hop_bytes:
            self._score = max(self._hops())
        self._frames_since_speech = 0 if self._score >= self._sure else self._frames_since_speech + 1

    def skip(self, frame: Frame) -> float:
        """See `Skipper`: as much is kept as makes a hop together with the next frame."""
        self._heard += self._resampler.push(frame)
        del self._heard[: -(self._window + self._short_of_hop)]
        return self._score

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
    """A detector that rests while its caller's microphone is no louder than the room, and where the answer is known.

    When somebody speaks it first catches up with the last of what it has not heard: pauses within a word are as if it
    had never rested, and an onset is met with the same recent past. Of what it skips within speech it hears no more.
    """

    def __init__(self, vad: Skipper, gate: Gate) -> None:
        self._vad = vad
        self._gate = gate
        self._certainty = Certainty()
        self._unheard: deque[Frame] = deque(maxlen=CATCH_UP_FRAMES)

    def __repr__(self) -> str:
        return f"RestingVad({self._vad!r}, {self._gate!r}, {self._certainty!r})"

    @property
    def name(self) -> str:
        """Which engine."""
        return self._vad.name

    def score(self, frame: Frame) -> float:
        """See `Vad`; 0 for what is no louder than the room, and for `SILENCE`, which nobody sent."""
        if frame is SILENCE:
            self._gate.pause()
            return self._rest(frame)
        dbfs = level(frame)
        if not self._gate.opens(dbfs):
            return self._rest(frame)
        if self._certainty.holds(dbfs):
            return self._vad.skip(frame)
        while self._unheard:
            self._vad.hear(self._unheard.popleft())
        score = self._vad.score(frame)
        self._certainty.learn(score)
        return score

    def _rest(self, frame: Frame) -> float:
        if not self._unheard:
            self._certainty.learn(0.0)
        self._unheard.append(frame)
        return 0.0

    def reset(self) -> None:
        """See `Vad`."""
        self._vad.reset()
        self._gate = Gate()
        self._certainty = Certainty()
        self._unheard.clear()

    def close(self) -> None:
        """See `Vad`."""
        self._vad.close()


def make_vad(settings: VadSettings) -> Vad:
    """A detector for one call. Raises `MissingLibrary` where the engine asked for cannot run."""
    name = choose_engine(settings.engine)
    return assembled(_BUILD[name](settings.vad_frame_ms), settings.threshold)


def assembled(engine: Engine, sure: float) -> Vad:
    """A detector from its parts: the engine, fed hop by hop, resting while the room is quiet."""
    return RestingVad(HopVad(engine, sure), Gate())


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
    from backend.media.vad_ten import TenEngine

    return TenEngine(hop_ms)


def _build_silero(_hop_ms: int) -> Engine:
    from backend.media.vad_silero import SileroEngine

    return SileroEngine()


_BUILD: dict[EngineName, Callable[[int], Engine]] = {"ten": _build_ten, "silero": _build_silero}
