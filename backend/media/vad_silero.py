"""Silero VAD: a small recurrent network, computed here with numpy, straight from 24 kHz.

The weights (version 5, MIT) are beside this file under the names that they have in the model. A general runtime spends
more time on the graph around this network than on the network, so its layers are written out here, per hop of 32 ms:

    short-time spectrum, 4 windows   129 magnitudes each, 0 to 8 kHz in steps of 62.5 Hz
    convolution, 3 taps               → 4 × 128
    convolution, 3 taps, every 2nd    → 2 × 64
    convolution, 3 taps, every 2nd    → 1 × 64     (its first tap meets only padding)
    convolution, 3 taps               → 1 × 128    (its outer taps meet only padding)
    LSTM                              → 128, its memory is what a call keeps
    linear, sigmoid                   → the probability of speech

Theory of the missing resampler. The model was trained at 16 kHz with windows of 16 ms. A window of 16 ms at 24 kHz has
its spectrum at the very same frequencies, only up to 12 kHz. So the first 129 values, scaled by the ratio of the rates,
are the spectrum that the model expects, and nothing has to be resampled.

At 16 kHz the scores are within 1e-5 of onnxruntime's; at 24 kHz resampling adds the difference that the tests bound.
Loaded weights and one workspace serve every call; a call keeps 1 KB.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import tanh
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Weights = Mapping[str, Floats]

WEIGHTS = Path(__file__).with_name("silero_vad.npz")
"""The tensors of the model's branch for 16 kHz; `tests/media/test_vad_silero.py` holds them against the model."""

MODEL_RATE = 16_000
"""The samples per second with which the model was trained."""
HOP_MS = 32
CONTEXT_MS = 4
"""The milliseconds of the last hop in front of each hop; behind it its own last ones are mirrored."""
WINDOW_MS = 16
STEP_MS = 8
BINS = 129
STATE = 128
_ZERO: Floats = np.zeros((), np.float32)
_HALF: Floats = np.full((), 0.5, np.float32)
"""Constants as arrays, which numpy need not convert at each use."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The network's weights, arranged so that every layer is one matrix product. Rows are inputs.

    Every input ends with a one, the weights of which are the layer's bias; where taps lie side by side, each has a one,
    and that of the middle tap has the bias.
    """

    spectrum: Floats
    """3 × (129 + 1) → 128."""
    second: Floats
    """3 × (128 + 1) → 64."""
    third: Floats
    """2 × (64 + 1) → 64."""
    fourth: Floats
    """64 + 1 → 128."""
    gates: Floats
    """256 (input, then state) + 1 → 512: in, forget, out (halved: see `_remember`), candidate."""
    speech: tuple[Floats, float]
    """128 → 1, and its bias."""


class SileroEngine:
    """One caller's state of the network; all callers share the weights and one workspace."""

    name: ClassVar[str] = "silero"
    onset: ClassVar[float] = 0.5  # a first sound may be doubtful

    def __init__(self, rate: int = 24_000) -> None:
        """`rate` is that of the PCM, which comes `hop_bytes` at a time with `context_bytes` of the sound before."""
        self.hop_bytes = 2 * rate * HOP_MS // 1000
        self.context_bytes = 2 * rate * CONTEXT_MS // 1000
        self._network = load_silero(rate)
        self._state: Floats = np.zeros(STATE, np.float32)
        self._memory: Floats = np.zeros(STATE, np.float32)

    def score_hop(self, pcm: bytes) -> float:
        """Return the probability of speech in the next hop: its context, then the hop."""
        return self._network.score(pcm, self._state, self._memory)

    def peek(self, pcm: bytes) -> float:
        """Score a hop that is not the next one, and forget it."""
        return self._network.score(pcm, self._state.copy(), self._memory.copy())


class Network:
    """The layers and one workspace for all calls, which stays in the processor's cache. One hop at a time."""

    def __init__(self, layers: Layers, rate: int) -> None:
        self._layers = layers
        self._window = _window(rate)
        hop, context, step = (rate * ms // 1000 for ms in (HOP_MS, CONTEXT_MS, STEP_MS))
        heard: Floats = np.zeros(context + hop + context, np.float32)
        self._heard = heard[: context + hop]
        self._mirror, self._mirrored = heard[context + hop :], heard[context + hop - 2 : hop - 2 : -1]
        self._windows: Floats = as_strided(heard, (4, len(self._window)), (4 * step, 4))
        self._windowed: Floats = np.zeros(self._windows.shape, np.float32)
        self._spectrum: NDArray[Any] = np.zeros((4, len(self._window) // 2 + 1), np.complex64)
        self._bins = self._spectrum[:, :BINS]
        # Each layer's input, with the padding its three taps reach into, and the view that lays the taps side by side.
        self._magnitudes, spectra = _rows(4, BINS, padding=1)
        self._spectra_taps: Floats = as_strided(spectra, (4, 3 * (BINS + 1)), (4 * (BINS + 1), 4))
        self._first, first = _rows(4, 128, padding=1)
        first_taps: Floats = as_strided(first, (2, 3 * (128 + 1)), (2 * 4 * (128 + 1), 4))
        second, second_taps = _rows(2, 64)
        self._second = tuple(zip(first_taps, second, strict=True))
        self._second_taps = second_taps.reshape(2 * (64 + 1))
        self._third, self._third_taps = (part[0] for part in _rows(1, 64))
        both, self._both = (part[0] for part in _rows(1, 2 * STATE))
        self._encoded, self._before = both[:STATE], both[STATE:]
        self._gates: Floats = np.zeros(4 * STATE, np.float32)
        self._sigmoids = self._gates[: 3 * STATE]
        self._take, self._keep, self._out, self._candidate = self._gates.reshape(4, STATE)

    def score(self, pcm: bytes, state: Floats, memory: Floats) -> float:
        """Return the probability of speech in a hop with its context; update a call's `state` and `memory`."""
        self._listen(pcm)
        self._encode()
        self._before[:] = state
        return self._remember(state, memory)

    def _listen(self, pcm: bytes) -> None:
        """Turn PCM into magnitudes."""
        self._heard[:] = np.frombuffer(pcm, "<i2")
        self._mirror[:] = self._mirrored
        np.multiply(self._windows, self._window, out=self._windowed)
        np.fft.rfft(self._windowed, out=self._spectrum)
        np.abs(self._bins, out=self._magnitudes)

    def _encode(self) -> None:
        """Compute four convolutions, each a product with its taps side by side, into the first half of `_both`."""
        layers = self._layers
        _rectify(np.matmul(self._spectra_taps, layers.spectrum, out=self._first))
        for taps, out in self._second:  # a row at a time: for two together BLAS takes longer
            _rectify(np.dot(taps, layers.second, out=out))
        _rectify(np.matmul(self._second_taps, layers.third, out=self._third))
        _rectify(np.matmul(self._third_taps, layers.fourth, out=self._encoded))

    def _remember(self, state: Floats, memory: Floats) -> float:
        """Compute the LSTM. All four gates go through one tanh: sigmoid(x) = tanh(x / 2) / 2 + 1/2."""
        gates, sigmoids, candidate = self._gates, self._sigmoids, self._candidate
        np.matmul(self._both, self._layers.gates, out=gates)
        np.tanh(gates, out=gates)
        sigmoids *= _HALF
        sigmoids += _HALF
        candidate *= self._take
        memory *= self._keep
        memory += candidate
        np.tanh(memory, out=state)
        state *= self._out
        weights, bias = self._layers.speech
        return 0.5 * tanh(0.5 * (float(np.maximum(state, _ZERO) @ weights) + bias)) + 0.5


def _rows(count: int, width: int, padding: int = 0) -> tuple[Floats, Floats]:
    """Return a view for a layer's input (`count` × `width`), and the whole with the ones and rows of padding."""
    whole: Floats = np.zeros((count + 2 * padding, width + 1), np.float32)
    whole[:, width] = 1
    return whole[padding : padding + count, :width], whole


def _rectify(values: Floats) -> None:
    np.maximum(values, _ZERO, out=values)


@cache
def load_silero(rate: int) -> Network:
    """Return the network for PCM of this rate."""
    with np.load(WEIGHTS) as weights:
        return Network(arrange(weights), rate)


def arrange(weights: Weights) -> Layers:
    """Return the model's own tensors (outputs × inputs × taps) as `Layers`."""
    rnn, speech = "decoder.rnn", "decoder.decoder.2"
    bias = weights[f"{rnn}.bias_ih"] + weights[f"{rnn}.bias_hh"]
    rows = np.concatenate((weights[f"{rnn}.weight_ih"].T, weights[f"{rnn}.weight_hh"].T, bias[None]))
    take, keep, candidate, out = np.split(rows, 4, axis=1)
    return Layers(
        spectrum=_convolution(weights, 0, slice(0, 3)),
        second=_convolution(weights, 1, slice(0, 3)),
        third=_convolution(weights, 2, slice(1, 3)),
        fourth=_convolution(weights, 3, slice(1, 2)),
        gates=np.concatenate((take / 2, keep / 2, out / 2, candidate), axis=1),
        speech=(weights[f"{speech}.weight"].reshape(STATE), float(weights[f"{speech}.bias"][0])),
    )


def _convolution(weights: Weights, number: int, taps: slice) -> Floats:
    name = f"encoder.{number}.reparam_conv"
    kernel = weights[f"{name}.weight"].transpose(2, 1, 0)
    with_bias: Floats = np.zeros((3, kernel.shape[1] + 1, kernel.shape[2]), np.float32)
    with_bias[:, :-1] = kernel
    with_bias[1, -1] = weights[f"{name}.bias"]
    return with_bias[taps].reshape(-1, kernel.shape[2])


@cache
def _window(rate: int) -> Floats:
    """Return Hann's window, scaled so that int16 at `rate` looks like the model's floats at its own rate."""
    samples = rate * WINDOW_MS // 1000
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(samples) / samples)
    return (hann * (MODEL_RATE / rate / 32768)).astype(np.float32)
