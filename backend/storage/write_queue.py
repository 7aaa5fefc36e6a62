"""A bounded queue of writes has one task that carries them out in order, off the audio path.

`enqueue` never waits and never fails. While the store is out of reach, writes wait until it answers again; when the
queue is full, the oldest is dropped. A write may be carried out twice if the answer to the first try was lost, so
repeating it must be harmless. An outage is logged once when it begins and once when it ends.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from backend.errors import PeerError
from backend.runtime.supervisor import cancel_all, event_or_timeout

log = logging.getLogger(__name__)

REST_S = (0.25, 2.0)
"""The shortest and longest pause between tries in an outage, in seconds; pauses double in between."""

SETTLE_S = 3.0
"""Seconds a read or an erasure waits for pending writes."""

W = TypeVar("W")


class WriteQueue(Generic[W]):
    """The writes of this process to one store."""

    def __init__(
        self,
        store: str,
        unavailable: type[PeerError],
        carry_out: Callable[[Sequence[W]], Awaitable[int]],
        *,
        limit: int,
        batch: int = 1,
    ) -> None:
        """`carry_out` takes up to `batch` writes, returns how many it gave up, raises `unavailable` in an outage."""
        self._store = store
        self._unavailable = unavailable
        self._carry_out = carry_out
        self._limit = limit
        self._batch = batch
        self._waiting: deque[W | asyncio.Event] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._closed = False
        self.dropped = 0
        """Writes dropped because the queue was full or the server is shutting down."""
        self.failed = 0
        """Writes that failed."""
        self.outage = ""
        """Why nothing can be written now; empty: writing works."""

    @property
    def depth(self) -> int:
        """The number of waiting writes."""
        return len(self._waiting)

    def enqueue(self, write: W | asyncio.Event) -> None:
        """Queue a write, or an event to set once all earlier writes are done. Returns immediately."""
        if self._closed:
            self.dropped += 1
            return
        if self.depth >= self._limit:
            del self._waiting[next((at for at, each in enumerate(self._waiting) if self._may_drop(each)), 0)]
            self.dropped += 1
        self._waiting.append(write)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work(), name=f"writes to the {self._store}")

    def _may_drop(self, write: W | asyncio.Event) -> bool:
        """Return whether a full queue may drop the write; if it may drop none, it drops the oldest."""
        return True

    async def settle(self, within_s: float = SETTLE_S) -> None:
        """Wait until all writes enqueued so far are done. Raises `unavailable` after `within_s` seconds."""
        if not self._waiting:
            return
        reached = asyncio.Event()
        self.enqueue(reached)
        await event_or_timeout(reached, within_s)
        if not reached.is_set():
            raise self._unavailable(f"The {self._store} has not carried out the waiting writes.")

    async def drain(self, within_s: float) -> None:
        """Finish the waiting writes within `within_s` seconds, and drop the rest and all later ones."""
        self._closed = True
        if self._worker is not None:
            await asyncio.wait([self._worker], timeout=within_s)
            await cancel_all([self._worker])
        if self._waiting:
            log.warning("%d writes to the %s are lost at the end: %s", self.depth, self._store, self.outage or "late")
        self.dropped += len(self._waiting)
        self._waiting.clear()

    async def _work(self) -> None:
        rest_s = REST_S[0]
        while self._waiting:
            batch = [self._waiting[index] for index in range(min(self._batch, self.depth))]
            try:
                self.failed += await self._carry_out([each for each in batch if not isinstance(each, asyncio.Event)])
            except self._unavailable as error:
                self._begin_outage(str(error))
                await asyncio.sleep(rest_s)
                rest_s = min(2 * rest_s, REST_S[1])
                continue
            except Exception:  # A fault in one write must not stop the writes of other calls.
                self.failed += len(batch)
                log.exception("a write to the %s failed for a reason of its own", self._store)
            self._end_outage()
            rest_s = REST_S[0]
            self._over(batch)

    def _over(self, batch: Sequence[W | asyncio.Event]) -> None:
        for done in batch:
            if self._waiting and self._waiting[0] is done:  # Otherwise it was dropped in the meantime.
                self._waiting.popleft()
            if isinstance(done, asyncio.Event):
                done.set()

    def _begin_outage(self, reason: str) -> None:
        if not self.outage:
            self.outage = reason or "no answer in time"
            log.warning("the %s is out of reach; calls go on, and their writes wait: %s", self._store, self.outage)

    def _end_outage(self) -> None:
        if self.outage:
            lost = self.failed + self.dropped
            log.warning("the %s answers again; %d writes were lost so far", self._store, lost)
            self.outage = ""
