"""The Moonshine engine of a recognition process turns audio into words, and audio without speech into none."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from backend.extensions.local.recognition.beam import BeamSearch
from backend.extensions.local.recognition.expected import ExpectedPhrases
from backend.extensions.local.recognition.jobs import AudioJob, RecognizedWords, decode_hearing, encode
from backend.extensions.local.recognition.moonshine_model import RATE, Decoded, MoonshineModel, Samples
from backend.extensions.local.recognition.tokens import Vocabulary
from backend.extensions.local.recognition.voiced import voiced_part
from backend.media.frame import BYTES_PER_MS, SAMPLE_RATE
from backend.media.resample import resample

LEAST_LOG_PROBABILITY = -1.4
"""The mean of the tokens' log-probabilities below which the words are a guess."""
MOST_REPEATS = 5
"""The most repetitions of a few tokens in a row; a decoder that has lost its way repeats them until it is stopped."""
LOUDNESS = 0.06
"""The RMS of the louder half of the model's input; full scale is 1."""
MOST_GAIN = 30.0
FAINT_NOISE = np.random.default_rng(0).standard_normal(RATE // 10).astype(np.float32) / 1000
"""A tenth of a second at -60 dBFS."""
MOST_OTHERS = 7
"""The most other transcripts that are passed on."""
LEAST_ECHO = 4
"""The number of tokens from which a repeated beginning is the decoder's echo."""
FASTEST = 4.5
"""The tokens in a second of quick speech; a decoder that repeats everything has more."""

BRIEF = 1100 * BYTES_PER_MS
"""The bytes of some 700 ms of voice with the margins on both sides: one word or two."""
MOST_LOSS = 3.1
"""The most that the expected transcript may lose by its sound against the free one, as a logarithm.
"Sure" for "share" loses 3.0, "right" for "rate" 2.9; "thank you very much" for "how much" loses 4.7 and more, "one
time" for "what time" 5.6, "right" if "rate" was said 6.3."""


class MoonshineEngine:
    """The engine for `speech_worker`."""

    def __init__(self) -> None:
        """Load the model. Raises `MissingLibrary`."""
        self._model = MoonshineModel(threads=int(os.environ.get("SPEECH_THREADS", "1")))

    def __call__(self, payload: bytes) -> Iterator[bytes]:
        """Yield b"" after each step, and the encoded `RecognizedWords` at the end."""
        hearing, model = decode_hearing(payload), self._model
        pcm = voiced_part(hearing.pcm)
        if not pcm:
            yield encode(RecognizedWords())
            return
        yield b""
        samples, outcomes = prepared(pcm), list[Decoded]()
        is_brief = bool(hearing.expected) and len(pcm) <= BRIEF
        for decoded in model.transcribe(samples, hearing.draft, _searches(hearing, model.tokens, is_brief=is_brief)):
            if decoded:
                outcomes.append(decoded)
                if is_brief and model.tokens.text(decoded.tokens) in (hearing.expected or ()):
                    break
            yield b""
        chosen, heard = chosen_of(*outcomes), RecognizedWords()
        if is_brief:  # a brief utterance is a usual phrase, so no router may choose another transcript
            chosen = replace(chosen, others=())
        if is_believable(outcomes[0]) or is_believable(chosen):
            heard = _heard(model, chosen, len(samples) / RATE)
        yield encode(heard)

    def stop(self) -> None:
        """Stop the computation within milliseconds, so that words for the page never delay the final ones."""
        self._model.stop()


load = MoonshineEngine


def _searches(hearing: AudioJob, tokens: Vocabulary, *, is_brief: bool) -> list[BeamSearch]:
    """Return the searches: one path for the page's words; for final words, many, without and then with expectation."""
    free = _expected((), tokens)
    if hearing.expected is None:
        return [BeamSearch(free, width=1)]
    return [BeamSearch(each) for each in ([free, _expected(hearing.expected, tokens)] if is_brief else [free])]


@lru_cache(maxsize=8)
def _expected(phrases: tuple[str, ...], tokens: Vocabulary) -> ExpectedPhrases:
    return ExpectedPhrases(phrases, tokens)


def chosen_of(free: Decoded, expected: Decoded | None = None) -> Decoded:
    """Return the expected transcript, unless the sound clearly favours the free one."""
    if expected is None or is_repetitive(expected.tokens):
        return free
    return expected if _chance(free) - _chance(expected) <= MOST_LOSS else free


def _chance(decoded: Decoded) -> float:
    """Return the log-probability of all tokens and of the end, by the sound alone."""
    return decoded.log_probability * (len(decoded.tokens) + 1)


def _heard(model: MoonshineModel, decoded: Decoded, seconds: float) -> RecognizedWords:
    tokens = without_echo(decoded.tokens, seconds)
    text, others = model.tokens.text(tokens), dict[str, tuple[str, float]]()
    for each, less in decoded.others if text else ():
        other = model.tokens.text(without_echo(each, seconds))
        others.setdefault(_letters(other), (other, less))
    for known in (_letters(text), ""):
        others.pop(known, None)
    return RecognizedWords(text, tokens, decoded.least, tuple(others.values())[:MOST_OTHERS])


def _letters(text: str) -> str:
    return re.sub(r"[^\w' ]", "", text.lower())


def prepared(pcm: bytes) -> Samples:
    """Return 24 kHz PCM16 as the model needs it: at 16 kHz, not too quiet, and with an end.

    The decoder repeats an utterance that breaks off. The end is a faint noise: with zeros, which no microphone gives,
    the encoder sometimes hears nothing at all.
    """
    sound = np.frombuffer(resample(pcm, SAMPLE_RATE, RATE), "<i2").astype(np.float32) / 32768
    loud = np.sort(sound**2)[len(sound) // 2 :]
    gain = min(LOUDNESS / (float(np.sqrt(loud.mean())) + 1e-5), MOST_GAIN, 1 / (float(np.abs(sound).max()) + 1e-5))
    return np.concatenate((sound * np.float32(max(1.0, gain)), FAINT_NOISE))


def is_believable(decoded: Decoded) -> bool:
    """Return whether the words were probably said, by the decoder's log-probabilities and repetitions."""
    return decoded.log_probability >= LEAST_LOG_PROBABILITY and not is_repetitive(decoded.tokens)


def is_repetitive(tokens: Sequence[int]) -> bool:
    """Return whether the same few tokens keep repeating."""
    for length in range(1, 9):
        same = 0
        for before, token in zip(tokens, tokens[length:], strict=False):
            same = same + 1 if token == before else 0
            if same >= length * MOST_REPEATS:
                return True
    return False


def without_echo(tokens: tuple[int, ...], seconds: float) -> tuple[int, ...]:
    """Return the tokens without a repetition of all of them, whole or begun, if they are too many for the time."""
    if len(tokens) <= FASTEST * seconds:
        return tokens
    for period in range(LEAST_ECHO, len(tokens) - 1):
        if tokens[period:] == tokens[: len(tokens) - period]:
            return tokens[:period]
    return tokens
