"""The voice is hibari's model in onnxruntime. It speaks a clause at a time and blocks: run it in a process or a thread.

The package's own class is not used: it would download voices.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
import onnxruntime
from hibari import dsp
from hibari.g2p import ASSETS, G2P
from hibari.voices import DEFAULT, VOICES

from backend.extensions.local.synthesis.clauses import clauses, pause_ms
from backend.extensions.local.synthesis.edges import Samples, trimmed
from backend.extensions.local.synthesis.jobs import Piece
from backend.extensions.local.synthesis.verbalize.verbalizer import verbalize

LONGEST_TEXT = 2000
"""The most characters of a sentence; a longer one is cut: 90 seconds of speech without a full stop are a mistake."""
MOST_WORDS = 500
"""The most spoken words of a sentence: two thousand digits would be ten minutes of speech."""
_GAIN = 1.38
"""The gain that brings the voice to a mean of -23 LUFS (EBU R 128) over many sentences, each within 2 LU of it."""
_SEED = 7
"""The seed of the noise that is the voice's breath, so that a sentence always sounds the same."""


class HibariVoice:
    """The voice of hibari's package. It is not safe for several threads at the same time."""

    def __init__(self) -> None:
        """Load the model and the pronunciations, which take some 150 MB."""
        self._session = _session(Path(ASSETS) / VOICES[DEFAULT]["file"])
        self._g2p = G2P()
        self._sounds: dict[str, int] = json.loads((Path(ASSETS) / "vocab.json").read_text(encoding="utf-8"))

    def warm_up(self) -> None:
        """Load what is loaded on first use, including the net for unknown words, so that no caller waits for it."""
        for _ in self.pieces("Hello, Qworpel."):
            pass

    def pieces(self, sentence: str, speed: float = 1.0) -> Iterator[Piece]:
        """Speak a sentence at a speed, clause by clause; each piece is made when it is asked for."""
        words = verbalize(sentence[:LONGEST_TEXT]).split()[:MOST_WORDS]
        done = 0
        for end in accumulate(clauses(words)):
            spoken = words[done:end]
            if (sound := self._speak(spoken, speed)).size:
                yield Piece(_pcm(sound), pause_ms(spoken[-1]))
            done = end

    def _speak(self, words: Sequence[str], speed: float) -> Samples:
        phonemes = self._g2p(" ".join(words), normalize_text=False)
        known = [each for each in phonemes if each in self._sounds]
        if not any(each.isalpha() for each in known):
            return np.zeros(0, np.float32)
        ids = [0, *(self._sounds[each] for each in known), 0]
        given = {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)}
        spectra = self._session.run(None, given)
        sound = dsp.synth(*(each[0] for each in spectra), np.random.default_rng(_SEED))
        return trimmed(sound) * np.float32(_GAIN)


def _session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _pcm(samples: Samples) -> bytes:
    return np.rint(np.clip(samples, -1.0, 1.0) * 32767).astype("<i2").tobytes()
