"""The voice: hibari's model in onnxruntime, one clause at a time. Blocking; runs in a speech process or a thread.

The package's own class is not used: it would fetch voices, and it does not tell when each sound begins. The model
computes that inside, so one more output is asked of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import onnxruntime
from hibari import dsp
from hibari.g2p import ASSETS, G2P
from hibari.voices import DEFAULT, VOICES
from numpy.typing import NDArray

from backend.extensions.local.synthesis.clauses import clauses, pause_ms
from backend.extensions.local.synthesis.edges import Samples, trimmed
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.verbalize.verbalizer import Verbalized, verbalize
from backend.media.frame import SAMPLE_RATE

LONGEST_TEXT = 2000
"""Characters of one sentence; what is longer is cut: a minute and a half of speech without a full stop is a mistake."""
MOST_WORDS = 500
"""Spoken words of one sentence: two thousand digits would be ten minutes of speech."""
_ENDS_OF_SOUNDS = "/CumSum_output_0"
"""The model's inner value that holds the frame at which each sound ends, shape `(sounds,)`."""
_ONSET_MS = 50
"""A sound is heard this much before the frame at which the model says that it begins (measured)."""
_GAIN = 1.38
"""Brings the voice to -23 LUFS (EBU R 128) in the mean of many sentences; none is 2 LU away from it."""
_SEED = 7
"""The breath in the voice is noise; the same sentence always sounds the same."""


class HibariVoice:
    """The voice inside hibari's package, loaded. Not safe for several threads at the same time."""

    def __init__(self) -> None:
        """Load the model and the pronunciations: some 150 MB."""
        self._session = _session(Path(ASSETS) / VOICES[DEFAULT]["file"])
        self._g2p = G2P()
        self._sounds: dict[str, int] = json.loads((Path(ASSETS) / "vocab.json").read_text(encoding="utf-8"))

    def warm_up(self) -> None:
        """Load what is loaded on first use, the net for unknown words too, so that no caller waits for it."""
        for _ in self.pieces("Hello, Qworpel."):
            pass

    def pieces(self, sentence: str, speed: float = 1.0) -> Iterator[Piece]:
        """Speak a sentence that fast, clause by clause; each piece is made when it is asked for."""
        sentence = sentence[:LONGEST_TEXT]
        verbalized = verbalize(sentence)
        words = verbalized.spoken.split()[:MOST_WORDS]
        done = 0
        for end in accumulate(clauses(words)):
            spoken = words[done:end]
            text, starts = _written(sentence, verbalized, done, end, last=end == len(words))
            samples, spoken_starts = self._speak(spoken, speed)
            places = tuple(spoken_starts[min(start, len(spoken) - 1)] for start in starts)
            yield Piece(text, _pcm(samples), places, pause_ms(spoken[-1]))
            done = end
        if not words and sentence.strip():
            yield Piece(sentence, b"", (0,) * len(sentence.split()), 0)

    def _speak(self, words: Sequence[str], speed: float) -> tuple[Samples, list[int]]:
        """The sound of some words, and when each begins in milliseconds."""
        phonemes = self._g2p(" ".join(words), normalize_text=False)
        known = [each for each in phonemes if each in self._sounds]
        if not any(each.isalpha() for each in known):
            return np.zeros(0, np.float32), [0] * len(words)
        ids = [0, *(self._sounds[each] for each in known), 0]
        given = {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)}
        *spectra, ends = self._session.run(None, given)
        sound = dsp.synth(*(each[0] for each in spectra), np.random.default_rng(_SEED))
        speech, cut_ms = trimmed(sound)
        length_ms = speech.size * 1000 / SAMPLE_RATE
        begins = _word_begins(known, _begins_ms(ends, sound.size), len(words))
        return speech * np.float32(_GAIN), [int(min(max(0.0, each - cut_ms - _ONSET_MS), length_ms)) for each in begins]


def _session(path: Path) -> onnxruntime.InferenceSession:
    """Return the model with the times of its sounds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    model = path.read_bytes() + _extra_output(_ENDS_OF_SOUNDS)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _extra_output(name: str) -> bytes:
    """A piece of ONNX model that only names one more output of its graph.

    Protocol buffers that are written one after the other are merged, so this is all it takes: ModelProto.graph (7),
    GraphProto.output (12), ValueInfoProto.name (1). Lengths below 128 take one byte.
    """
    message = name.encode()
    for field in (1, 12, 7):
        message = bytes([field << 3 | 2, len(message)]) + message
    return message


def _begins_ms(ends: NDArray[np.float32], samples: int) -> NDArray[np.float64]:
    """When each sound begins."""
    begins = np.concatenate([[0.0], np.asarray(ends[:-1], np.float64)])
    return np.asarray(begins * (samples * 1000 / SAMPLE_RATE / float(ends[-1])))


def _word_begins(phonemes: Sequence[str], begins_ms: NDArray[np.float64], words: int) -> list[float]:
    """When each word begins: the words of the phonemes are parted by spaces, and the first sound is a pause."""
    firsts = [i for i, each in enumerate(phonemes) if each != " " and (i == 0 or phonemes[i - 1] == " ")]
    places = [firsts[number * len(firsts) // words] for number in range(words)]
    return [float(begins_ms[place + 1]) for place in places]


def _written(sentence: str, verbalized: Verbalized, start: int, end: int, *, last: bool) -> tuple[str, list[int]]:
    """The part of the sentence with the spoken words `start` to `end`, and for each of its words the number of the
    spoken word, counted from `start`."""
    places = [index for index, begin in enumerate(verbalized.starts) if begin >= start and (last or begin < end)]
    if not places:
        return "", []
    _, *later = (word.start() for word in re.finditer(r"\S+", sentence))
    cuts = [0, *later, len(sentence)]
    text = sentence[cuts[places[0]] : len(sentence) if last else cuts[places[-1] + 1]]
    return text, [verbalized.starts[place] - start for place in places]


def _pcm(samples: Samples) -> bytes:
    return np.rint(np.clip(samples, -1.0, 1.0) * 32767).astype("<i2").tobytes()
