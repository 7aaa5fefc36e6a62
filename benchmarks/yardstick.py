"""The present speed of the server's core: only with it can figures of different machines and moments be compared.

There are two yardsticks, since a call is half native code and half interpreter. Encoding shows the core alone, a piece
of Python shows the core and the build of the interpreter. An interpreter without profile-guided optimisation needs a
quarter more.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from backend.media.opus import OpusEncoder
from backend.testing.speech import frames_of
from benchmarks import speech

ROUNDS = 3
PIECES = 400
STEPS = 200
"""Rounds of the Python piece: about as much interpreting as for one packet."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Microseconds of CPU time."""

    encode_us: float
    """Encoding 20 ms of speech."""
    python_us: float
    """A piece of plain Python."""


def measured(cores: Iterable[int]) -> Yardstick:
    """Both, on one of `cores`: medians."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        return Yardstick(_encoding(), statistics.median(_timed(_piece) for _ in range(PIECES)))
    finally:
        os.sched_setaffinity(0, own)


def mean(*sticks: Yardstick) -> Yardstick:
    """The median of several moments."""
    return Yardstick(
        statistics.fmean(each.encode_us for each in sticks), statistics.fmean(each.python_us for each in sticks)
    )


def _encoding() -> float:
    encoder = OpusEncoder(bitrate=32_000, complexity=5)  # always these, whatever the server uses
    try:
        frames = frames_of(speech.questions()[0]) * ROUNDS
        return statistics.median(_timed(partial(encoder.encode, frame)) for frame in frames)
    finally:
        encoder.close()


def _timed(work: Callable[[], object]) -> float:
    began = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - began) / 1000


class _Counter:
    """Attributes, calls, tuples and a dictionary, as in our code."""

    def __init__(self) -> None:
        self.total = 0
        self.kept: dict[int, tuple[int, int]] = {}

    def add(self, number: int) -> int:
        """Keep it."""
        self.total += number & 7
        self.kept[number & 31] = (number, self.total)
        return self.total


def _piece() -> None:
    counter = _Counter()
    for number in range(STEPS):
        counter.add(number)
