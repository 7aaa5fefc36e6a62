"""The Moonshine engine of a recognition process: audio in, words out, and nothing where nothing was said."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from backend.media.frame import SAMPLE_RATE
from backend.media.resample import resample
from local_responder.recognition.jobs import Heard, decode_hearing, encode
from local_responder.recognition.moonshine_model import RATE, Decoded, MoonshineModel, Samples
from local_responder.recognition.voiced import voiced_ms

NAME = "Moonshine base"
LEAST_VOICED_MS = 96
"""Less is a click or a cough; the shortest word that is said alone, "no", has some 150 ms."""
LEAST_LOG_PROBABILITY = -1.4
"""Mean of the tokens below which the words are a guess."""
MOST_REPEATS = 5
"""How often a few tokens may come again at once; a decoder that has lost its way says them until it is stopped."""
LOUDNESS = 0.06
"""RMS of the louder half of what the model gets, full scale being 1."""
MOST_GAIN = 30.0
MARGIN = np.zeros(RATE // 10, np.float32)
"""Silence before the first sound, which may be cut close."""


def load() -> Callable[[bytes], Iterator[bytes]]:
    """Return the engine for `speech_worker`. Raises `MissingLibrary`."""
    model = MoonshineModel(threads=int(os.environ.get("SPEECH_THREADS", "1")))
    return lambda payload: recognise(model, payload)


def recognise(model: MoonshineModel, payload: bytes) -> Iterator[bytes]:
    """Yield b"" after each step, and the `Heard` at last."""
    hearing = decode_hearing(payload)
    if voiced_ms(hearing.pcm) < LEAST_VOICED_MS:
        yield encode(Heard())
        return
    yield b""
    for decoded in model.transcribe(prepared(hearing.pcm), hearing.draft):
        yield encode(_heard(model, decoded)) if decoded else b""


def _heard(model: MoonshineModel, decoded: Decoded) -> Heard:
    return Heard(model.text(decoded.tokens), decoded.tokens) if is_believable(decoded) else Heard()


def prepared(pcm: bytes) -> Samples:
    """Return 24 kHz PCM16 as the model wants it: 16 kHz, at an even loudness, a little silence in front."""
    sound = np.frombuffer(resample(pcm, SAMPLE_RATE, RATE), "<i2").astype(np.float32) / 32768
    loud = np.sort(sound**2)[len(sound) // 2 :]
    gain = min(LOUDNESS / (float(np.sqrt(loud.mean())) + 1e-5), MOST_GAIN, 1 / (float(np.abs(sound).max()) + 1e-5))
    return np.concatenate((MARGIN, sound * np.float32(gain), MARGIN))


def is_believable(decoded: Decoded) -> bool:
    """Return whether the words were said, as far as the decoder's own doubts and repetitions tell."""
    return decoded.log_probability >= LEAST_LOG_PROBABILITY and not is_repetitive(decoded.tokens)


def is_repetitive(tokens: Sequence[int]) -> bool:
    """Return whether the same few tokens follow each other again and again."""
    for length in range(1, 9):
        same = 0
        for before, token in zip(tokens, tokens[length:], strict=False):
            same = same + 1 if token == before else 0
            if same >= length * MOST_REPEATS:
                return True
    return False
