"""Voice activity detection: how likely is it that a frame is speech?

Two engines stand behind one protocol: TEN VAD (`vad_ten`) and Silero (`vad_silero`), which runs wherever
onnxruntime does. Both hear 16 kHz and score hops of their own length; `HopVad` feeds them 20 ms frames and keeps
the last score between hops. An engine's library or model is loaded once and shared; a call has only a small state
of its own.

Measured on 20 short synthetic sentences of two voices, threshold 0.7, 32 ms hops, from the first sound above the
noise: TEN notices the onset after 80 ms and Silero after 40 to 80 ms (medians); sentences that begin with a weak
consonant ("Thank you", "Forecast") take up to 240 ms with either, of which the pre-roll gives back its length.
The end is told within 50 ms of the last sound. Between words neither drops out for as long as a hangover.

The model also runs in silence. A gate that rests it while nothing is louder than -66 dBFS was measured and left
out: what the model remembers then differs, and onsets moved by up to 160 ms, to save 1 % of a core.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Literal, Protocol

from backend.audio.frame import SAMPLE_RATE, Frame
from backend.audio.resample import Resampler
from backend.errors import MissingLibrary
from backend.settings import VadSettings

log = logging.getLogger(__name__)

VAD_RATE = 16_000
"""Samples per second the engines hear."""

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
    """What `HopVad` needs of a model: a score for one hop of 16 kHz mono PCM16."""

    @property
    def name(self) -> EngineName:
        """Which engine."""
        ...

    @property
    def hop_bytes(self) -> int:
        """Bytes in a hop."""
        ...

    def score_hop(self, pcm: bytes) -> float:
        """Probability of speech in exactly `hop_bytes` bytes."""
        ...

    def reset(self) -> None:
        """Forget what was heard."""
        ...

    def close(self) -> None:
        """Release what is native. Safe to call twice."""
        ...


class HopVad:
    """Makes any engine a `Vad`: resamples frames to 16 kHz and cuts them into the engine's hops."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._resampler = Resampler(SAMPLE_RATE, VAD_RATE)
        self._heard = bytearray()
        self._score = 0.0

    def __repr__(self) -> str:
        return f"HopVad({self.name}, last score {self._score:.2f})"

    @property
    def name(self) -> str:
        """Which engine."""
        return self._engine.name

    def score(self, frame: Frame) -> float:
        """See `Vad`. Where a frame completes several hops, the highest of their scores counts."""
        self._heard += self._resampler.push(frame)
        hop = self._engine.hop_bytes
        if len(self._heard) >= hop:
            scores = []
            while len(self._heard) >= hop:
                scores.append(self._engine.score_hop(bytes(self._heard[:hop])))
                del self._heard[:hop]
            self._score = max(scores)
        return self._score

    def reset(self) -> None:
        """See `Vad`."""
        self._engine.reset()
        self._resampler = Resampler(SAMPLE_RATE, VAD_RATE)
        self._heard.clear()
        self._score = 0.0

    def close(self) -> None:
        """See `Vad`."""
        self._engine.close()


def make_vad(settings: VadSettings) -> Vad:
    """A detector for one call. Raises `MissingLibrary` where the engine asked for cannot run."""
    name = choose_engine(settings.engine)
    return HopVad(_BUILD[name](settings.vad_frame_ms))


@cache
def choose_engine(wanted: Literal["auto", "ten", "silero"]) -> EngineName:
    """Load and try the engine wanted, once; `auto` takes TEN VAD where it runs, else Silero. Raises `MissingLibrary`.

    Call it at start-up, so that the first caller does not wait for a model.
    """
    if wanted != "auto":
        _try(wanted)
        log.info("VAD: %s, as set", wanted)
        return wanted
    try:
        _try("ten")
    except MissingLibrary as error:
        _try("silero")
        log.warning("VAD: silero, because TEN VAD cannot run here: %s %s", error, error.hint)
        return "silero"
    log.info("VAD: ten, the default")
    return "ten"


def _try(name: EngineName) -> None:
    engine = _BUILD[name](32)
    engine.score_hop(bytes(engine.hop_bytes))
    engine.close()


def _build_ten(hop_ms: int) -> Engine:
    from backend.audio.vad_ten import TenEngine

    return TenEngine(hop_ms)


def _build_silero(_hop_ms: int) -> Engine:
    from backend.audio.vad_silero import SileroEngine

    return SileroEngine()


_BUILD: dict[EngineName, Callable[[int], Engine]] = {"ten": _build_ten, "silero": _build_silero}
