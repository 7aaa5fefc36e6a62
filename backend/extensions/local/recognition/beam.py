"""Beam search follows several transcripts in parallel, and returns the likeliest as a whole. Pure.

Greedy search takes the likeliest token at each place. It is often wrong if another one is nearly as likely and the
words after it fit better. The caller computes the model and passes the log-probabilities after each path; `extend`
returns the paths from which the next ones come.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.extensions.local.recognition.expected import END, ExpectedPhrases

WIDTH = 6
"""The most paths that are followed in parallel. Two cost the model as much as eight."""
SUCCESSORS = 8
"""The number of tokens that are considered after each path."""
BEHIND = 5.0
"""The distance from the best path at which another is given up: below a hundredth of its probability."""
WITHIN = 3.0
"""The distance from the best whole transcript at which another is still kept: a twentieth of its probability."""


@dataclass(frozen=True, slots=True)
class Path:
    """A transcript, whole or only begun."""

    tokens: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()
    """The log-probability of each token by its sound alone, and of the end."""
    score: float = 0.0
    """The sum of `chances`, with the bonus of expectation."""
    word: float = 0.0
    """The log-probability of its last word by expectation."""


class BeamSearch:
    """The paths of one utterance, and those that have ended."""

    def __init__(self, expected: ExpectedPhrases, width: int = WIDTH) -> None:
        self._expected = expected
        self._width = width
        # An expected path gains with each word, and would never end; a single path has no others.
        self._within = 0.0 if expected or width == 1 else WITHIN
        self.paths = [Path()]
        self._ended: list[Path] = []

    def extend(self, likely: NDArray[np.float32]) -> list[int]:
        """Take the log-probabilities of the next token, a row for each path. Return the row of the path that each new
        path extends; [] if no path goes on."""
        tops = np.argpartition(likely, -SUCCESSORS, axis=1)[:, -SUCCESSORS:]
        found = [
            (self._longer(path, int(token), float(likely[row, token])), row)
            for row, path in enumerate(self.paths)
            for token in tops[row]
            if path.tokens
            or token != END
            or token == likely[row].argmax()  # speech has words unless no word is likelier than the end
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
        """Return the score that other paths need beside an ended one; beside an empty one, no score is enough."""
        return ended.score - (self._within if ended.tokens else 0.0)

    def _longer(self, path: Path, token: int, chance: float) -> Path:
        worth, word = self._expected.worth(path.tokens, path.word, token)
        tokens = path.tokens if token == END else (*path.tokens, token)
        return Path(tokens, (*path.chances, chance), path.score + chance + worth, word)
