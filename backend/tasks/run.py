"""One run of one task: its Thinker at work, what it tells and keeps, its limits, and how it ends.

begin ─► think ─┬─► answer ─► finish                       (and its result's entry, in the same transaction)
                ├─► failure ─► fail ─► again in 5 s, once, or over
                ├─► 300 s: hurried, to answer with what is there ─► 600 s: stopped, over
                ├─► the record says it is not ours any more ─► stopped, nothing written
                └─► this worker ends ─► handed back, for another to go on from its steps
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from backend.errors import BadRequest, MemoryUnavailable, PeerError, VoiceError
from backend.tasks.repository import Records
from backend.tasks.task import Outcome, Superseded, Task, TaskState

log = logging.getLogger(__name__)

NEWS_LIMIT = 20
"""Things to tell that may wait; older ones fall off."""
STOP_WITHIN_S = 2.0
"""Seconds stopped work gets to tidy up before it is left behind."""
END_TRIES = 30
"""How often the end of a run is written, a second apart, to a Redis that does not answer."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """See `settings_background`. Times in seconds."""

    retries: int = 1
    retry_after_s: float = 5.0
    soft_s: float = 300.0
    hard_s: float = 600.0
    look_s: float = 0.5
    """How often a run looks whether it still has its task."""


@dataclass(frozen=True, slots=True)
class Again:
    """The task is to be brought to a worker once more, after so many seconds."""

    delay_s: float


class Run:
    """What the work on a task is given: see `thinkers.base.Checkpoints`, and `progress`."""

    def __init__(self, task: Task, records: Records, steps: dict[str, Any]) -> None:
        self.task = task
        self.hurried = False
        self._records = records
        self._steps = steps
        self._news: deque[str] = deque(maxlen=NEWS_LIMIT)
        self._awake = asyncio.Event()

    def __repr__(self) -> str:
        return f"Run({self.task!r}, {len(self._steps)} steps kept)"

    def progress(self, detail: str) -> None:
        """Tell how far it has got, without the user's words. Returns at once."""
        self._news.append(detail)
        self._awake.set()

    def kept(self, name: str) -> Any | None:
        """See `Checkpoints.kept`."""
        return self._steps.get(name)

    async def keep(self, name: str, value: Any) -> None:
        """See `Checkpoints.keep`. A step that cannot be kept is done again, should it come to that."""
        self._steps[name] = value
        try:
            await self._records.keep(self.task, name, value)
        except (MemoryUnavailable, ValueError) as error:
            log.warning("a step of a task could not be kept: %s", error)

    async def awake(self) -> None:
        """Until there is something to tell."""
        await self._awake.wait()

    async def tell(self) -> None:
        """Write down what waits to be told. Raises `Superseded`."""
        self._awake.clear()
        while self._news:
            await self._records.tell(self.task, self._news.popleft())


Work = Callable[[Run], Awaitable[Outcome]]
"""Does a task. Raises a `VoiceError` whose text can be spoken; cancelled, it stops."""


class Runner:
    """Runs tasks by their ids, any number at once. `stop` hands back what runs."""

    def __init__(self, records: Records, work: Work, limits: RunLimits) -> None:
        self._records = records
        self._work = work
        self._limits = limits
        self._thinking: set[asyncio.Task[Outcome]] = set()
        self._stopping = False

    def __repr__(self) -> str:
        return f"Runner({len(self._thinking)} running{', stopping' if self._stopping else ''})"

    @property
    def running(self) -> int:
        """How many tasks run here."""
        return len(self._thinking)

    def stop(self) -> None:
        """Stop what runs; each `run` then hands its task back and returns."""
        self._stopping = True
        for task in self._thinking:
            task.cancel()

    async def run(self, task_id: str) -> Again | None:
        """One run of that task, if it is still to be done. Raises `MemoryUnavailable` when it cannot be begun or ended.

        Cancelled, it stops the work, and leaves the record to whoever cancelled.
        """
        if self._stopping:
            return Again(0.0)
        try:
            task = await self._records.begin(task_id)
            run = Run(task, self._records, await self._records.steps(task_id))
        except Superseded:
            return None
        thinking = asyncio.ensure_future(self._work(run))
        self._thinking.add(thinking)
        self._stop_late(thinking)
        try:
            await self._attend(run, thinking)
            return await self._ended(run, thinking)
        except Superseded:
            return None
        finally:
            self._thinking.discard(thinking)
            await _stopped(thinking)

    def _stop_late(self, thinking: asyncio.Future[Outcome]) -> None:
        """For one that was being begun when the others were stopped."""
        if self._stopping:
            thinking.cancel()

    async def _attend(self, run: Run, thinking: asyncio.Future[Outcome]) -> None:
        """Until the work is done, stopped, or out of time. Raises `Superseded`."""
        began = time.monotonic()
        while not thinking.done():
            news = asyncio.create_task(run.awake())
            waited: set[asyncio.Future[Any]] = {thinking, news}
            try:
                await asyncio.wait(waited, timeout=self._limits.look_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
            await self._look(run)
            spent = time.monotonic() - began
            run.hurried = run.hurried or spent >= self._limits.soft_s
            if spent >= self._limits.hard_s and not thinking.done():
                thinking.cancel()
                return

    async def _look(self, run: Run) -> None:
        """Tell what there is to tell, and see whether the task is still ours. Without Redis the work goes on."""
        try:
            await run.tell()
            now = await self._records.find(run.task.id)
        except MemoryUnavailable:
            return
        if now is None or now.state is not TaskState.RUNNING or now.run != run.task.run:
            raise Superseded("The task is not this run's any more.")

    async def _ended(self, run: Run, thinking: asyncio.Future[Outcome]) -> Again | None:
        await asyncio.wait({thinking}, timeout=STOP_WITHIN_S)
        task, records, limits = run.task, self._records, self._limits
        if self._stopping and (not thinking.done() or thinking.cancelled()):
            await self._patiently(lambda: records.hand_back(task), tries=1)
            return Again(0.0)
        if not thinking.done() or thinking.cancelled():
            return await self._failed(task, f"It took longer than {limits.hard_s:g} seconds.", retries=0)
        if (error := thinking.exception()) is None:
            await self._patiently(lambda: records.finish(task, thinking.result()))
            return None
        if isinstance(error, Superseded):
            raise error
        return await self._failed(task, _words(error), retries=limits.retries if _may_pass(error) else 0)

    async def _failed(self, task: Task, error: str, retries: int) -> Again | None:
        after_s = self._limits.retry_after_s
        now: Task = await self._patiently(
            lambda: self._records.fail(task, error, retries=retries, retry_after_s=after_s)
        )
        return Again(after_s) if now.open else None

    async def _patiently(self, write: Callable[[], Awaitable[Any]], tries: int = END_TRIES) -> Any:
        """Write the end of a run, to a Redis that may be away for a moment. Raises `MemoryUnavailable` in the end."""
        for left in range(tries - 1, -1, -1):
            try:
                return await write()
            except MemoryUnavailable:
                if not left:
                    raise
            await asyncio.sleep(1.0)
        raise AssertionError("unreachable")


async def _stopped(thinking: asyncio.Future[Outcome]) -> None:
    """No work goes on after its run; what will not stop is left behind, and said so."""
    thinking.cancel()
    await asyncio.wait({thinking}, timeout=STOP_WITHIN_S)
    if not thinking.done():
        log.warning("the work on a task did not stop in time")
    elif not thinking.cancelled():
        thinking.exception()  # looked at, so that asyncio does not report it as overlooked


def _may_pass(error: BaseException) -> bool:
    """Whether trying again can help."""
    if isinstance(error, PeerError):
        return error.retryable
    return not isinstance(error, BadRequest)


def _words(error: BaseException) -> str:
    if isinstance(error, VoiceError):
        return str(error)
    log.error("the work on a task is broken: %s", type(error).__name__)  # without its text: it may hold a user's words
    return "The specialist had an internal fault."
