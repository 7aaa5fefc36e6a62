"""A process of a `SpeechPool`: `python -m backend.extensions.local.speech_worker MODULE` loads that module and works.

Standard input carries jobs and cancellations, standard output pieces of answers, in the frames of `speech_pool.py`.
The process ends when its standard input does.
"""

from __future__ import annotations

import importlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable
from typing import IO

from backend.extensions.local.speech_pool import CANCEL, DONE, FAILED, FRAME, JOB, PIECE, READY

Engine = Callable[[bytes], Iterable[bytes]]
"""Makes pieces of one job's payload; an empty piece is not sent, and only lets a cancellation take effect.

What it raises fails the job alone; its text is shown, and must not hold what was said. An engine that takes long for a
piece may have a method `stop`, called from another thread, which makes the job in hand raise as soon as possible.
"""

NICENESS = 10
"""Added to the priority's number, so that the processes that carry calls always come first."""
_LONGEST_ERROR = 500


class Jobs:
    """Jobs as they come, and which of them are no longer wanted. Filled by a thread of its own."""

    def __init__(self, source: IO[bytes], stop: Callable[[], None]) -> None:
        """`stop` is called when the job in hand is cancelled."""
        self._source, self._stop = source, stop
        self._in_hand: int | None = None
        self._changing = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[int, bytes] | None] = queue.SimpleQueue()
        self._cancelled: set[int] = set()
        threading.Thread(target=self._read, name="jobs", daemon=True).start()

    def next(self) -> tuple[int, bytes] | None:
        """Return the next job's number and payload; None: there will be no more."""
        job = self._waiting.get()
        with self._changing:
            self._in_hand = job[0] if job else None
        return job

    def is_cancelled(self, number: int) -> bool:
        """Return whether the rest of a job is wanted no more."""
        return number in self._cancelled

    def forget(self, number: int) -> None:
        """Keep nothing about a job that is over."""
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
    """Load, then work until the end of input."""
    # Whatever a library prints must not get between our frames.
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
    except Exception as error:  # noqa: BLE001 - a library's failure is the job's, and the process goes on
        if not jobs.is_cancelled(number):
            _write(answers, FAILED, number, f"{type(error).__name__}: {error}"[:_LONGEST_ERROR].encode())
            return
    _write(answers, DONE, number)


def _write(answers: IO[bytes], kind: int, number: int, payload: bytes = b"") -> None:
    answers.write(FRAME.pack(kind, number, len(payload)) + payload)
    answers.flush()


if __name__ == "__main__":
    main()
