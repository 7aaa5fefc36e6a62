"""What the detector makes of the microphone, for whoever watches: one score per frame.

Nobody watches as a rule, and then a frame costs one look at an empty tuple. A watcher gets a ring of its own; one
that reads too seldom loses the oldest scores, never the call's time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from backend.errors import TooMany

RING_FRAMES = 250
"""Scores a watcher can leave unread: five seconds of 20 ms frames."""
WATCHERS = 4
"""Who may watch one call at the same time."""

Ring = deque[float]


class Levels:
    """One call's. `threshold`: the probability from which a frame counts as speech."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self._rings: tuple[Ring, ...] = ()

    def __repr__(self) -> str:
        return f"Levels(threshold {self.threshold}, {len(self._rings)} watching)"

    def note(self, score: float) -> None:
        """A frame's probability of speech, 0 to 1."""
        for ring in self._rings:
            ring.append(score)

    def have_room(self) -> None:
        """Raises `TooMany` when enough are watching."""
        if len(self._rings) >= WATCHERS:
            raise TooMany("Enough are watching this call.", retry_after_s=5, hint="Close another developer's drawer.")

    @contextmanager
    def watch(self) -> Iterator[Ring]:
        """A ring that fills until the block is left; empty it as you read. Raises `TooMany`."""
        self.have_room()
        ring: Ring = deque(maxlen=RING_FRAMES)
        self._rings = (*self._rings, ring)
        try:
            yield ring
        finally:
            self._rings = tuple(other for other in self._rings if other is not ring)
