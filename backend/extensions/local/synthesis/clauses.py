"""The cuts of a long sentence, so that its beginning is heard while the rest is made. Pure."""

import re
from collections.abc import Sequence

FIRST_CHARACTERS = 70
"""The most characters of the first piece: about four seconds of speech, made in some fifty milliseconds."""
LATER_CHARACTERS = 160
"""The most characters of a later piece; it is made while the piece before plays."""
WHOLE_CHARACTERS = 90
"""The most characters of a sentence that is not cut at all: it sounds best in one piece."""
FEWEST_CHARACTERS = 12
"""The fewest characters of a piece; a shorter one would sound torn off."""
_MARKED = re.compile(r"[,;:—–…)]$|[.!?][\"”)]?$")
_JOINING = re.compile(r"(?:and|but|or|because|which|that|while|when|if|so|with|from|for|to|in|at|on|of)", re.I)
PAUSES_MS = {",": 140, ";": 220, ":": 220, "—": 220, "–": 220, "…": 350, ".": 320, "!": 320, "?": 360}
"""The pause that follows a piece, in milliseconds, by the mark at its end."""


def clauses(words: Sequence[str]) -> list[int]:
    """Return the number of words in each piece of a sentence, in order; together they are all words."""
    if _length(words) <= WHOLE_CHARACTERS:
        return [len(words)] if words else []
    sizes: list[int] = []
    rest = list(words)
    while rest:
        most = LATER_CHARACTERS if sizes else FIRST_CHARACTERS
        size = len(rest) if _length(rest) <= most else _best_cut(rest, most)
        sizes.append(size)
        rest = rest[size:]
    return sizes


def pause_ms(words: str) -> int:
    """Return the milliseconds for which the voice rests after these words, if others follow."""
    return PAUSES_MS.get(words.rstrip("\"”’')")[-1:], 0)


def _best_cut(words: Sequence[str], most: int) -> int:
    """Return the number of words up to the last mark that fits, else up to a joining word, else all that fit."""
    fitting = max(1, sum(1 for size in range(1, len(words)) if _length(words[:size]) <= most))
    enough = [size for size in range(1, fitting + 1) if _length(words[:size]) >= FEWEST_CHARACTERS]
    for good in (
        [size for size in enough if _MARKED.search(words[size - 1])],
        [size for size in enough if _JOINING.fullmatch(words[size]) and _length(words[:size]) >= most // 2],
    ):
        if good:
            return good[-1]
    return fitting


def _length(words: Sequence[str]) -> int:
    return sum(map(len, words)) + max(0, len(words) - 1)
