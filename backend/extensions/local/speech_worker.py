"""A process of a `SpeechPool`: `python -m backend.extensions.local.speech_worker MODULE` carries out jobs by a module.

Standard input carries jobs and cancellations, standard output pieces of answers, in the frames of `speech_pool.py`.
The process ends when its standard input does.
"""

import importlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from typing import IO

from backend.extensions.local.speech_pool import CANCEL, DONE, FAILED, FRAME, JOB, PIECE, READY

Engine = Callable[[bytes], Iterable[bytes]]
"""Turns a job's payload into pieces. An empty piece is not sent; it only lets a cancellation take effect.

An error fails only its job. The error's text is shown, so it must not hold what was said. An engine that takes long for
a piece may have a method `stop`, which another thread calls: it makes the present job raise as soon as possible.
"""

NICENESS = 10
"""The number added to the process's niceness, so that the processes that carry calls always come first."""
_LONGEST_ERROR = 500


class Jobs:
    """The jobs that arrive, and the numbers of those that are cancelled. A thread of its own fills it."""

    def __init__(self, source: IO[bytes], stop: Callable[[], None]) -> None:
        """`stop` is called when the present job is cancelled."""
        self._source, self._stop = source, stop
        self._in_hand: int | None = None
        self._changing = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        threading.Thread(target=self._read, name="jobs", daemon=True).start()

    def next(self) -> tuple[int, bytes] | None:
        """Return the number and payload of the next job; None if there will be no more."""
        job = self._waiting.get()
        with self._changing:
            self._in_hand = job[0] if job else None
        return job

    def is_cancelled(self, number: int) -> bool:
        """Return whether the rest of a job is no longer wanted."""
        return number in self._cancelled

    def forget(self, number: int) -> None:
        """Forget a job that is over."""
        with self._changing:
            self._in_hand = None
        self._cancelled.discard(number)

    def _read(self) -> None:
        while len(header := self._source.read(FRAME.size)) == FRAME.size:
            kind, number, length = FRAME.unpack(header)
            payload = self._source.read(length)
            if len(payload) < length:
                break
            if kind == JOB:
                self._waiting.put((number, payload))
            elif kind == CANCEL:
                self._cancelled.add(number)
                with self._changing:
                    if number == self._in_hand:
                        self._stop()
        self._waiting.put(None)


def main() -> None:
    """Load the engine, then carry out jobs until the end of input."""
    # The output of a library must not get between our frames.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(NICENESS)
    engine: Engine = importlib.import_module(sys.argv[1]).load()
    jobs = Jobs(sys.stdin.buffer, getattr(engine, "stop", lambda: None))
    _write(answers, READY, 0)
    while (job := jobs.next()) is not None:
        number, payload = job
        _work(engine, jobs, answers, number, payload)
        jobs.forget(number)


def _work(engine: Engine, jobs: Jobs, answers: IO[bytes], number: int, payload: bytes) -> None:
    try:
        for piece in engine(payload):
            if jobs.is_cancelled(number):
                break
            if piece:
                _write(answers, PIECE, number, piece)
    except Exception as error:  # noqa: BLE001 - a library's failure fails only the job
        if not jobs.is_cancelled(number):
            _write(answers, FAILED, number, f"{type(error).__name__}: {error}"[:_LONGEST_ERROR].encode())
            return
    _write(answers, DONE, number)


def _write(answers: IO[bytes], kind: int, number: int, payload: bytes = b"") -> None:
    answers.write(FRAME.pack(kind, number, len(payload)) + payload)
    answers.flush()


if __name__ == "__main__":
    main()
