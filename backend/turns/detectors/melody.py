"""The detector of melody: a voice that clearly rises at the end of what is no question is likely to go on.

Measured with 60 pairs of a fragment and its whole sentence per family of voices: the
pitch tells fragments from whole statements with espeak-ng (0.9 of 1) and flite (0.7), whose rules put it there, and
not at all with the neural voice of hibari (0.5); no recorded speech of people was at hand. So it may only lengthen the
wait, and only by `RISING_ODDS`, about one row of the table of patience. Of unseen fragments up to 3 in 100 fewer are
then answered within 600 ms, and whole turns 0 to 8 ms later on average. Length and level showed next to nothing.
"""

from __future__ import annotations

from backend.turns.grammar import kind_of, words_of
from backend.turns.patience import PauseContext

RISING = 3.0
"""Semitones per second from which a pitch clearly rises. Whole statements do so in 0 to 5 (hibari: 22) of 100."""
RISING_ODDS = -0.5


def log_odds(context: PauseContext) -> float:
    """Return `RISING_ODDS` for a statement or a request whose pitch rises at its end, else 0."""
    slope = context.ending.pitch_slope if context.ending else None
    if slope is None or not slope >= RISING:  # also when it is not a number
        return 0.0
    words = words_of(context.words or "")
    return RISING_ODDS if words and "question" not in kind_of(words) else 0.0
