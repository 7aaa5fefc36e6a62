"""The tokens of the recognition model, which are pieces of words: read from a file, to text and back. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

SPACE = "▁"
"""The mark that begins the first piece of each word."""
OLD_SPELLING = re.compile(r"\b(to(?=-(?:day|morrow|night)\b)|good(?=[ -]bye\b))[ -]", re.IGNORECASE)
MARKS = frozenset(mark.encode() for mark in ".,?!;:'")
MOST_WORDS = 20_000
"""The most words with tokens that are remembered."""


class Vocabulary:
    """The 32,000 pieces, by number. A piece with a lower number was merged earlier, and is likelier."""

    def __init__(self, file: bytes) -> None:
        self._pieces = _read(file)
        self._numbers = {piece.decode(errors="replace"): number for number, piece in enumerate(self._pieces)}
        self.begins = [piece.startswith(SPACE.encode()) or piece[:1] in MARKS for piece in self._pieces]
        """For each token: True if it begins a word, a mark, or the end of "it's"."""
        self.of_word = lru_cache(MOST_WORDS)(self._split)
        """Returns the tokens of a word as in the model's training: the earliest piece is joined first."""

    def text(self, tokens: Sequence[int]) -> str:
        """Return the words of tokens, in the modern spelling of "tomorrow" and "goodbye": the model knows old books."""
        joined = b"".join(self._pieces[token] for token in tokens if token < len(self._pieces))
        words = joined.decode(errors="replace").replace(SPACE, " ").strip()
        return OLD_SPELLING.sub(r"\1", words)

    def _split(self, word: str) -> tuple[int, ...]:
        parts = [SPACE, *word]
        while len(parts) > 1:
            joined = [self._numbers.get(one + other, len(self._pieces)) for one, other in pairwise(parts)]
            at = joined.index(min(joined))
            if joined[at] == len(self._pieces):
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return tuple(self._numbers.get(part, 0) for part in parts)


def _read(file: bytes) -> list[bytes]:
    """Return the pieces. The length of each stands before it, in one byte, or from 128 on in two."""
    pieces: list[bytes] = []
    at = 0
    while at < len(file):
        length, at = file[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * file[at], at + 1
        pieces.append(file[at : at + length])
        at += length
    return pieces
