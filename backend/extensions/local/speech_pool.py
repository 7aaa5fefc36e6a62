"""A pool of speech processes, shared by all calls: recognition and synthesis each load their engine in one.

    run(payload) ──► queue ──► the next free process ──► pieces, as they are made

Speech is computed outside the process that serves calls, because it takes a core for tenths of a second. Its priority
is lower, so that it delays no call's audio. No call has more than one job at a time. A process that dies is started
again; one that is silent for too long is ended first. Only the job that it had fails. A job with a closed iterator is
dropped from the queue, or stopped after the present piece.

Frames in both directions are a header, then a payload (`FRAME`, big-endian); `speech_worker.py` is the other side.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
from asyncio.subprocess import Process
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, field

from backend.errors import PeerError, SetupError
from backend.runtime.child_process import ChildProcess, Command, Limits, running
from backend.runtime.supervisor import cancel_all, supervised

log = logging.getLogger(__name__)

FRAME = struct.Struct(">BII")
"""The header: the kind, the number of the job, and the number of payload bytes."""
JOB, CANCEL = 1, 2
READY, PIECE, DONE, FAILED = 3, 4, 5, 6
MOST_BYTES = 64 * 1024 * 1024
"""The most bytes that one job may make: more than ten minutes of audio."""
PAUSES_S = (0.1, 1.0, 5.0)
"""Seconds before an ended process is started again; the pause grows each time one ends soon after its start."""


class SpeechPoolFailed(PeerError):
    """A speech process ended or was silent for too long, or too many jobs wait."""

    hint = "Try again; if it happens often, lower LOCAL_CALLS or give the machine more cores."


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """The limits of a pool."""

    workers: int = 1
    threads: int = 1
    """The most threads with which a process computes."""
    most_waiting: int = 32
    """The most jobs that may wait; one more is refused."""
    within_s: float = 15.0
    """The most seconds that a job may wait for a process, and that a process may take for the next piece."""
    ready_within_s: float = 60.0
    """The most seconds that loading may take."""


USUAL = PoolLimits()


@dataclass(eq=False, slots=True)
class _Job:
    number: int
    payload: bytes
    spare: bool = False
    pieces: asyncio.Queue[bytes | Exception | None] = field(default_factory=asyncio.Queue)
    """The pieces, and at the end None or an error. Bounded by `MOST_BYTES`."""
    dropped: bool = False


class SpeechPool:
    """Processes that all have loaded the same engine. Construct it in a running event loop, and `close` it there."""

    def __init__(self, name: str, engine: str, limits: PoolLimits = USUAL) -> None:
        """`engine` is a module with a `load()` that returns an `Engine` (`speech_worker.py`); logs show `name`."""
        self.name = name
        self.limits = limits
        self._waiting: deque[_Job] = deque()
        self._wanted = asyncio.Condition()
        self._count = 0
        numbers = range(1, limits.workers + 1)
        self._workers = [
            _Worker(self, f"{name} {number}" if limits.workers > 1 else name, engine) for number in numbers
        ]

    @property
    def depth(self) -> int:
        """Return the number of jobs that no process has taken."""
        return len(self._waiting)

    @property
    def ready(self) -> int:
        """Return the number of processes that have loaded their engine."""
        return sum(worker.child.ready for worker in self._workers)

    @property
    def idle(self) -> bool:
        """Return whether a process is ready and idle, so that spare work delays no job."""
        return not self._waiting and any(worker.child.ready and worker.job is None for worker in self._workers)

    @property
    def pids(self) -> list[int]:
        """Return the ids of the running processes."""
        return [pid for worker in self._workers if (pid := worker.child.pid) is not None]

    def start(self) -> None:
        """Begin to load, without waiting. Safe to call again."""
        for worker in self._workers:
            worker.start()

    async def wait_until_ready(self) -> None:
        """Start, and return once a process has loaded its engine."""
        self.start()
        waiting = [asyncio.ensure_future(worker.child.wait_until_running()) for worker in self._workers]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_all(waiting)

    async def close(self) -> None:
        """End all processes; their jobs fail. Safe to call twice."""
        for worker in self._workers:
            await worker.close()
        for job in self._waiting:
            job.pieces.put_nowait(SpeechPoolFailed(f"{self.name} was closed."))
        self._waiting.clear()

    async def run(self, payload: bytes, *, spare: bool = False) -> AsyncGenerator[bytes]:
        """Yield the engine's answer to `payload`, piece by piece. Raises `SpeechPoolFailed`.

        Close the iterator to stop early. A `spare` job ends without a further piece as soon as another job waits.
        """
        if self.depth >= self.limits.most_waiting:
            raise SpeechPoolFailed(f"{self.name} has too much to do.")
        self.start()
        self._count = (self._count + 1) % 2**32
        job = _Job(self._count, payload, spare)
        if not self.idle:
            for worker in self._workers:
                if worker.job and worker.job.spare:
                    worker.cancel(worker.job)
        self._waiting.append(job)
        async with self._wanted:
            self._wanted.notify()
        try:
            while (piece := await self._next_piece(job)) is not None:
                yield piece
        finally:
            self._drop(job)

    async def take(self) -> _Job:
        """Wait for the next job and return it."""
        async with self._wanted:
            await self._wanted.wait_for(lambda: bool(self._waiting))
            return self._waiting.popleft()

    async def _next_piece(self, job: _Job) -> bytes | None:
        try:
            # Longer than a process may be silent and than its end takes, so that its report comes first.
            async with asyncio.timeout(2 * self.limits.within_s):
                piece = await job.pieces.get()
        except TimeoutError:
            raise SpeechPoolFailed(f"{self.name} did not answer in time.") from None
        if isinstance(piece, Exception):
            raise piece
        return piece

    def _drop(self, job: _Job) -> None:
        job.dropped = True
        with suppress(ValueError):  # a process has taken it
            self._waiting.remove(job)
        for worker in self._workers:
            worker.cancel(job)


class _Worker:
    """One process, and the job that it has."""

    def __init__(self, pool: SpeechPool, name: str, engine: str) -> None:
        self.job: _Job | None = None
        self._pool = pool
        self._name = name
        limits = pool.limits
        # Every library gets the same number of threads: more would take the cores of calls.
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "SPEECH_THREADS"), str(limits.threads))
        command = Command([*running(f"{__package__}.speech_worker"), engine], os.environ | threads, pipes=True)
        self.child = ChildProcess(
            name,
            lambda: command,
            until_ready=self._wait_until_loaded,
            limits=Limits(ready_within_s=limits.ready_within_s, pauses_s=PAUSES_S),
        )
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._serving is None:
            self._serving = supervised(self._name, self._serve)

    async def close(self) -> None:
        job = self.job
        if self._serving is not None:
            await cancel_all([self._serving])
        await self.child.close()
        if job is not None:
            job.pieces.put_nowait(SpeechPoolFailed(f"{self._name} was closed."))

    def cancel(self, job: _Job) -> None:
        """Inform the process that the rest of `job` is not wanted, if it is the present job."""
        process = self.child.running_process
        if job is self.job and process and process.stdin and not process.stdin.is_closing():  # it may be ending
            process.stdin.write(FRAME.pack(CANCEL, job.number, 0))

    async def _serve(self) -> None:
        await self._start_child()
        while True:
            await self.child.wait_until_running()
            self.job = job = await self._pool.take()
            try:
                process = await self.child.wait_until_running()  # it may have ended while it was idle
                if not job.dropped:
                    await self._carry_out(process, job)
            except TimeoutError:
                log.error("%s was silent for %g s, so its process is ended", self._name, self._pool.limits.within_s)
                self._fail("did not answer in time")
            except (asyncio.IncompleteReadError, OSError):
                self._fail("ended while it worked on this")
            finally:
                self.job = None

    async def _start_child(self) -> None:
        while True:
            try:
                return await self.child.start()
            except (SetupError, OSError) as error:
                log.error("%s did not start: %s", self._name, error)
                await asyncio.sleep(PAUSES_S[-1])

    async def _wait_until_loaded(self, process: Process) -> None:
        kind, _, _ = await _read(process)
        if kind != READY:
            raise OSError(f"{self._name} began with an unknown frame")

    async def _carry_out(self, process: Process, job: _Job) -> None:
        assert process.stdin
        within_s, made = self._pool.limits.within_s, 0
        async with asyncio.timeout(within_s):
            process.stdin.write(FRAME.pack(JOB, job.number, len(job.payload)) + job.payload)
            await process.stdin.drain()
        while True:
            async with asyncio.timeout(within_s):
                kind, number, payload = await _read(process)
            made += len(payload)
            if number != job.number or made > MOST_BYTES:
                raise OSError(f"{self._name} sent what was not asked for")
            match kind:
                case _ if kind == PIECE:
                    job.pieces.put_nowait(payload)
                case _ if kind == FAILED:
                    job.pieces.put_nowait(SpeechPoolFailed(payload.decode(errors="replace")))
                    return
                case _:
                    job.pieces.put_nowait(None)
                    return

    def _fail(self, why: str) -> None:
        self.child.kill()
        job, self.job = self.job, None
        if job is not None:
            job.pieces.put_nowait(SpeechPoolFailed(f"{self._name} {why}."))


async def _read(process: Process) -> tuple[int, int, bytes]:
    assert process.stdout
    kind, number, length = FRAME.unpack(await process.stdout.readexactly(FRAME.size))
    return kind, number, await process.stdout.readexactly(length)
