"""The exporter of traces: a bounded queue, and one thread that empties it in batches.

`enqueue` is an append: it never waits and never fails. When the queue is full the oldest record is
dropped and counted. While the far end fails, it is left alone for a growing pause, and the batch it did not take is
kept for a few more attempts. A thread, and not a task, since connecting, encrypting and encoding must not take the
audio's time; a daemon, since a far end that hangs must not keep the process alive.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from backend.errors import TracingUnavailable
from backend.observability.trace_records import Record

log = logging.getLogger(__name__)

Send = Callable[[Sequence[Record]], None]
"""Hands a batch over, in the exporter's thread. Raises `TracingUnavailable`."""

LOOK_EVERY_S = 0.05
"""Seconds between two looks at what waits."""


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """The limits of an exporter; times in seconds."""

    limit: int = 1_000
    """Records waiting at most: about a megabyte, or some ten with everybody's words."""
    batch: int = 50
    """Records in one request: few, so that wording them never holds the interpreter for long."""
    every_s: float = 1.0
    rest_s: float = 2.0
    """The first pause after a failure; each further one is twice as long."""
    longest_rest_s: float = 60.0
    attempts: int = 3
    """Times that one batch is tried."""
    close_within_s: float = 2.0


class TraceExporter:
    """Hands records to `send` in a thread that `start` starts and `close` ends."""

    def __init__(
        self, send: Send, *, limits: ExportLimits | None = None, finish: Callable[[], None] = lambda: None
    ) -> None:
        self._send = send
        self._finish = finish
        self._limits = limits or ExportLimits()
        self._waiting: deque[Record] = deque()
        self._batch: list[Record] = []
        self._attempts = 0
        self._rest_s = 0.0
        self._stop = threading.Event()
        self._stop_by = float("inf")
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """Records given up because the queue was full."""
        self.failed = 0
        """Records given up because they could not be delivered."""
        self.delivered = 0

    def __repr__(self) -> str:
        state = f"paused for {self._rest_s:g} s" if self._rest_s else "sending"
        return f"TraceExporter({self.depth} waiting, {self.delivered} delivered, {self.lost} lost, {state})"

    @property
    def depth(self) -> int:
        """The number of records waiting, without the batch being sent."""
        return len(self._waiting)

    @property
    def lost(self) -> int:
        """The number of records given up."""
        return self.dropped + self.failed

    def enqueue(self, record: Record) -> None:
        """Queue `record` for delivery. Called from one thread only."""
        if len(self._waiting) >= self._limits.limit:
            with suppress(IndexError):  # the exporter may just have taken them all
                self._waiting.popleft()
                self.dropped += 1
        self._waiting.append(record)

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._work, name="trace exporter", daemon=True)
        self._thread.start()

    def settle(self, within_s: float) -> None:
        """Wait until everything was delivered, for `within_s` seconds at most. Call it in a thread."""
        until = time.monotonic() + within_s
        while (self._waiting or self._batch) and time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)

    async def close(self) -> None:
        """Deliver what waits, within `close_within_s`; what a failing far end would not take is not tried again."""
        if self._thread is None:
            return
        self._stop_by = time.monotonic() + self._limits.close_within_s
        self._stop.set()
        await asyncio.to_thread(self._thread.join, self._limits.close_within_s)
        if left := len(self._waiting) + len(self._batch):
            self.failed += left
            log.warning("%d spans of the trace were not delivered before the end.", left)
        self._waiting.clear()

    def _work(self) -> None:
        try:
            while not self._stop.wait(max(self._limits.every_s, self._rest_s)):
                self._deliver()
            if not self._rest_s:
                self._deliver()
        finally:
            self._finish()

    def _deliver(self) -> None:
        """Send batch after batch, until nothing waits, one fails, or it is time to stop."""
        while (self._batch or self._take()) and time.monotonic() < self._stop_by:
            self._attempts += 1
            try:
                self._send(self._batch)
            except TracingUnavailable as error:
                self._failed(str(error), for_good=not error.retryable)
                return
            except Exception as error:  # noqa: BLE001 - the thread outlives a fault of ours; its text may hold words
                self._failed(f"a fault of ours, {type(error).__name__}", for_good=True)
                return
            self.delivered += len(self._batch)
            self._batch = []
            if self._rest_s:
                log.warning("Traces are delivered again; %d spans were lost so far.", self.lost)
            self._rest_s = 0.0

    def _take(self) -> bool:
        with suppress(IndexError):
            while len(self._batch) < self._limits.batch:
                self._batch.append(self._waiting.popleft())
        self._attempts = 0
        return bool(self._batch)

    def _failed(self, why: str, *, for_good: bool) -> None:
        if not self._rest_s:
            log.warning("Traces cannot be delivered, calls go on without: %s", why)
        self._rest_s = min(max(self._limits.rest_s, 2 * self._rest_s), self._limits.longest_rest_s)
        if for_good or self._attempts >= self._limits.attempts:
            self.failed += len(self._batch)
            self._batch = []
