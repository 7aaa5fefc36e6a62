"""The voice: hibari's model in onnxruntime, one clause at a time. Blocking; runs in a speech process or a thread.

The package's own class is not used: it would fetch voices.
"""

from __future__ import annotations

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
"""Characters of one sentence; what is longer is cut: a minute and a half of speech without a full stop is a mistake."""
MOST_WORDS = 500
"""Spoken words of one sentence: two thousand digits would be ten minutes of speech."""
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
