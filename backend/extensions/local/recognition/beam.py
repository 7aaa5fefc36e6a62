"""Beam search: several transcripts are followed side by side, and the one that is likeliest as a whole wins. Pure.

The likeliest token at each place, taken immediately (greedy search), is often wrong where another one is nearly as
likely and the words behind it fit better. The caller computes the model and hands in the log-probabilities that follow
each path; `extend` says from which paths the next ones come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.extensions.local.recognition.expected import END, ExpectedPhrases

WIDTH = 6
"""Paths followed in parallel, at most. Two cost the model as much as eight."""
SUCCESSORS = 8
"""Tokens looked at behind each path."""
BEHIND = 5.0
"""How far behind the best path another is given up: below a hundredth of its probability."""
WITHIN = 3.0
"""How far behind the best whole transcript another may still be chosen: at a twentieth of its probability."""


@dataclass(frozen=True, slots=True)
class Path:
    """A transcript that is begun, or whole."""

    tokens: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()
    """The log-probability of each token by its sound alone, and of the end."""
    score: float = 0.0
    """The sum of them, with the bonus of expectation."""
    word: float = 0.0
    """How likely its last word is by expectation."""


class BeamSearch:
    """The paths of one utterance, and those that have ended."""

    def __init__(self, expected: ExpectedPhrases, width: int = WIDTH) -> None:
        self._expected = expected
        self._width = width
        # What is expected gains with each word, and would never end; a single path looks for no other.
        self._within = 0.0 if expected or width == 1 else WITHIN
        self.paths = [Path()]
        self._ended: list[Path] = []

    def extend(self, likely: NDArray[np.float32]) -> list[int]:
        """Take the log-probabilities of what follows each path, a row each; return which path each new one extends.

        Nothing is returned when no path goes on.
        """
        tops = np.argpartition(likely, -SUCCESSORS, axis=1)[:, -SUCCESSORS:]
        found = [
            (self._longer(path, int(token), float(likely[row, token])), row)
            for row, path in enumerate(self.paths)
            for token in tops[row]
            if path.tokens
            or token != END
            or token == likely[row].argmax()  # a sound has words unless nothing is likelier
        ]
        found.sort(key=lambda each: -each[0].score)
        least = max([found[0][0].score - BEHIND, *map(self._bound, self._ended)])
        rows: list[int] = []
        paths: list[Path] = []
        for path, row in found:
            if path.score < least or len(paths) == self._width:
                break
            if len(path.chances) > len(path.tokens):
                self._ended.append(path)
                least = max(least, self._bound(path))
            else:
                paths.append(path)
                rows.append(row)
        self.paths = paths or self.paths
        return rows

    def likeliest(self) -> list[Path]:
        """Return the ended paths, the best first; if none has ended, the best of all."""
        return sorted(self._ended, key=lambda path: -path.score) or self.paths[:1]

    def _bound(self, ended: Path) -> float:
        """Return the score that other paths need beside an ended one; without speech, there are none."""
        return ended.score - (self._within if ended.tokens else 0.0)

    def _longer(self, path: Path, token: int, chance: float) -> Path:
        worth, word = self._expected.worth(path.tokens, path.word, token)
        tokens = path.tokens if token == END else (*path.tokens, token)
        return Path(tokens, (*path.chances, chance), path.score + chance + worth, word)
