"""The worker takes task ids from the queue, runs their tasks, and enqueues those the queue has lost.

    begin ─► work ──┬─► answer ─► finish                     (and its result's entry, in the same transaction)
                    ├─► failure ─► fail ─► again in 5 s, once, or over
                    ├─► 300 s: hurried, to answer with what is there ─► 600 s: stopped, over
                    ├─► the record says it is not ours any more ─► stopped, nothing written
                    └─► this worker ends ─► handed back, for another to go on from its steps

Any number of workers may run, in any process on any machine that reaches the same Redis. A worker that is killed leaves
its ids in the queue, where another finds them once the lease is over; one that ends in order puts them back at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, cast

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from backend.errors import BadRequest, MemoryUnavailable, PeerError, VoiceError
from backend.observability.logs import log_ids
from backend.observability.tracing import NO_TRACER, Tracer, opened, rooted
from backend.runtime.supervisor import supervised
from backend.settings.tasks import BackgroundSettings
from backend.tasks.fair_queue import FairQueue
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.queue import DocketQueue
from backend.tasks.repository import TaskRepository, record_key
from backend.tasks.task import Superseded, Task, TaskResult, TaskState
from backend.thinkers.base import Checkpoints, Manifest, Question, ThinkerProgress
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.tools.base import ToolRights

log = logging.getLogger(__name__)

UNSAVED_LIMIT = 20
"""Progress reports that may wait to be written; older ones are dropped."""
STOP_WITHIN_S = 2.0
"""Seconds stopped work gets to tidy up before it is left behind."""
END_TRIES = 30
"""How often the end of a run is written, a second apart, to a Redis that does not answer."""
END_WITHIN_S = 5.0
"""Seconds a worker's end may take."""
BEGIN_TRIES = 5
"""How often a task is tried to be begun, a second apart, while Redis does not answer."""
CHECK_S = 0.5
"""Seconds between two checks whether a run still has its task."""
POLL_S = 0.5
"""How long one read of the queue waits, and how often due retries are looked for."""


class TaskRun(Checkpoints):
    """A run keeps the checkpoints of the work on a task, and takes its progress."""

    def __init__(self, task: Task, repository: TaskRepository, steps: dict[str, object]) -> None:
        super().__init__(steps)
        self.task = task
        self._repository = repository
        self._unsaved: deque[str] = deque(maxlen=UNSAVED_LIMIT)
        self.has_progress = asyncio.Event()
        self.on_progress: Callable[[str], None] | None = None
        """Gets each report, too."""

    def __repr__(self) -> str:
        return f"TaskRun({self.task!r}, {len(self.values)} steps kept)"

    def progress(self, detail: str) -> None:
        """Report how far the work is, without the user's words. Returns at once."""
        self._unsaved.append(detail)
        self.has_progress.set()
        if self.on_progress:
            self.on_progress(detail)

    async def save(self, name: str, value: Any) -> None:
        """Save the value of a step. One that cannot be stored is done again should there be another run."""
        await super().save(name, value)
        try:
            await self._repository.save_step(self.task, name, value)
        except (MemoryUnavailable, ValueError) as error:
            log.warning("a step of a task could not be stored: %s", error)

    async def save_progress(self) -> None:
        """Write down the progress reported so far. Raises `Superseded`."""
        self.has_progress.clear()
        while self._unsaved:
            await self._repository.report_progress(self.task, self._unsaved.popleft())


TaskWork = Callable[[TaskRun], Awaitable[TaskResult]]
"""The work on a task raises a `VoiceError` whose text can be spoken; cancelled, it stops."""


def background_kinds(manifests: tuple[Manifest, ...]) -> frozenset[str]:
    """Return the domains that can be done in the background."""
    return frozenset(manifest.domain for manifest in manifests if manifest.background)


def thinker_work(thinkers: ThinkerDispatcher, model_calls: ModelCallLog, tracer: Tracer = NO_TRACER) -> TaskWork:
    """Return the work of asking a Thinker, with no deadline but the run's; errors are those of `ThinkerDispatcher`.

    Each run is a trace of its own, beside those of the conversation it belongs to.
    """

    async def work(run: TaskRun) -> TaskResult:
        task = run.task

        def on_progress(progress: ThinkerProgress) -> None:
            if progress.detail:
                run.progress(progress.detail)

        question = Question(
            task.kind,
            task.instruction,
            task.id,
            task.owner,
            source_mode=task.source_mode,
            conversation_id=task.conversation_id,
            rights=ToolRights(task.reach).alone(),
        )
        scope = model_calls.scope(task.id, task.owner, while_exists=record_key(task.id))
        conversation = task.conversation_id or task.id
        with (
            log_ids(task=task.id, conversation=task.conversation_id),
            scope,
            rooted(tracer, "task", f"task {task.kind}", conversation, user=task.owner) as trace,
            opened("thinker", task.kind) as span,
        ):
            trace.note(task=task.id)
            span.asked(task.instruction)
            answer = await thinkers.answer(question, on_progress, checkpoints=run, patient=True)
            span.note(source=answer.source, citations=len(answer.citations))
        return TaskResult(answer.text, answer.source, answer.citations)

    return work


@dataclass(eq=False, repr=False)
class TaskRunner:
    """The runner runs tasks by their ids, any number at once. `stop` hands back the tasks that run."""

    repository: TaskRepository
    work: TaskWork
    settings: BackgroundSettings
    check_s: float = CHECK_S
    _running: set[asyncio.Future[TaskResult]] = field(default_factory=set, init=False)
    _stopping: bool = field(default=False, init=False)

    def __repr__(self) -> str:
        return f"TaskRunner({len(self._running)} running{', stopping' if self._stopping else ''})"

    @property
    def running(self) -> int:
        """The number of tasks that run here."""
        return len(self._running)

    def stop(self) -> None:
        """Stop all runs; each `run` then hands its task back and returns."""
        self._stopping = True
        for task in self._running:
            task.cancel()

    async def run(self, task_id: str) -> float | None:
        """Run that task once if it is still open; return in how many seconds to enqueue it again, None for never.

        When cancelled, it stops the work and leaves the record as it is. Raises `MemoryUnavailable` when the run cannot
        be begun or ended.
        """
        if self._stopping:
            return 0.0
        try:
            task = await self.repository.begin(task_id)
            run = TaskRun(task, self.repository, await self.repository.steps(task_id))
        except Superseded:
            return None
        work = asyncio.ensure_future(self.work(run))
        self._running.add(work)
        try:
            await self._watch(run, work)
            return await self._end(run, work)
        except Superseded:
            return await self._again(task_id)
        finally:
            self._running.discard(work)
            await _stop(work)

    async def _again(self, task_id: str) -> float | None:
        """Return 0 when a task that this run has lost waits for another: it was given to another user meanwhile."""
        now = await self.repository.find(task_id)
        return 0.0 if now is not None and now.state is TaskState.QUEUED else None

    async def _watch(self, run: TaskRun, work: asyncio.Future[TaskResult]) -> None:
        """Wait until the work is done, stopped, or out of time. Raises `Superseded`."""
        began = time.monotonic()
        if self._stopping:  # since the task was begun
            work.cancel()
        while not work.done():
            progress = asyncio.create_task(run.has_progress.wait())
            waited: set[asyncio.Future[Any]] = {work, progress}
            try:
                await asyncio.wait(waited, timeout=self.check_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                progress.cancel()
            await self._check(run)
            spent = time.monotonic() - began
            run.hurried = run.hurried or spent >= self.settings.soft_limit_s
            if spent >= self.settings.hard_limit_s and not work.done():
                work.cancel()
                return

    async def _check(self, run: TaskRun) -> None:
        """Save the progress. Raises `Superseded` when the task is not this run's any more; without Redis nothing."""
        try:
            await run.save_progress()
            now = await self.repository.find(run.task.id)
        except MemoryUnavailable:
            return
        if now is None or now.state is not TaskState.RUNNING or now.run != run.task.run:
            raise Superseded("The task is not this run's any more.")

    async def _end(self, run: TaskRun, work: asyncio.Future[TaskResult]) -> float | None:
        await asyncio.wait({work}, timeout=STOP_WITHIN_S)
        task, repository, settings = run.task, self.repository, self.settings
        if self._stopping and (not work.done() or work.cancelled()):
            await repository.hand_back(task)
            return 0.0
        if not work.done() or work.cancelled():
            return await self._failed(task, f"It took longer than {settings.hard_limit_s:g} seconds.", retries=0)
        if (error := work.exception()) is None:
            await _retried(END_TRIES)(repository.finish, task, work.result())
            return None
        if isinstance(error, Superseded):
            raise error
        transient = error.retryable if isinstance(error, PeerError) else not isinstance(error, BadRequest)
        return await self._failed(task, _speakable(error), retries=settings.retries if transient else 0)

    async def _failed(self, task: Task, error: str, retries: int) -> float | None:
        after_s = self.settings.retry_after_s
        fail = partial(self.repository.fail, task, error, retries=retries, retry_after_s=after_s)
        now: Task = await _retried(END_TRIES)(fail)
        return after_s if now.open else None


def _retried(tries: int) -> AsyncRetrying:
    """Return retries, a second apart, of a call to a Redis that may be away for a moment."""
    missing = retry_if_exception_type(MemoryUnavailable)
    return AsyncRetrying(stop=stop_after_attempt(tries), wait=wait_fixed(1.0), retry=missing, reraise=True)


async def _stop(work: asyncio.Future[TaskResult]) -> None:
    """Stop the work with its run; work that does not stop is left behind, and logged."""
    work.cancel()
    await asyncio.wait({work}, timeout=STOP_WITHIN_S)
    if not work.done():
        log.warning("the work on a task did not stop in time")
    elif not work.cancelled():
        work.exception()  # read, so that asyncio does not report it as never retrieved


def _speakable(error: BaseException) -> str:
    if isinstance(error, VoiceError):
        return str(error)
    log.error("the work on a task is broken: %s", type(error).__name__)  # without its text: it may hold a user's words
    return "The specialist had an internal fault."


class Worker:
    """A worker runs tasks in this process. Others take it for dead after `settings.lease_s` seconds of silence."""

    def __init__(
        self,
        queue: DocketQueue,
        repository: TaskRepository,
        work: TaskWork,
        settings: BackgroundSettings,
        *,
        check_s: float = CHECK_S,
    ) -> None:
        self._queue = queue
        self._repository = repository
        self._fair_queue = FairQueue(repository, queue, settings.per_user)
        self._runner = TaskRunner(repository, work, settings, check_s=check_s)
        self._settings = settings
        self._ending = asyncio.Event()
        self.name = f"{socket.gethostname()}#{os.getpid()}#{secrets.token_hex(3)}"

    def __repr__(self) -> str:
        return f"Worker({self.name}, {self._runner.running} of {self._settings.concurrency} running)"

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run tasks from the queue until the end of the block."""
        self._queue.set_runner(self._run)
        working = supervised("task worker", self._work)
        sweeping = supervised("task sweep", self._sweep)
        try:
            yield
        finally:
            sweeping.cancel()
            self._ending.set()
            await asyncio.sleep(0)  # it takes no further id before what runs is handed back
            self._runner.stop()
            _, late = await asyncio.wait({working, sweeping}, timeout=END_WITHIN_S)
            if late:
                log.warning("a worker did not end in time; its tasks go to another when the lease is over")
                working.cancel()

    async def _work(self) -> None:
        """Run the library's worker until the end; should it return before, it is started again."""
        from docket import Worker as DocketWorker

        lease_s = self._settings.lease_s
        poll = timedelta(seconds=min(POLL_S, lease_s / 8))
        while not self._ending.is_set():
            with contextlib.suppress(MemoryUnavailable):
                await self._queue.delete_unreadable()
            async with DocketWorker(  # leaving this block makes it finish what runs, and stop
                self._queue.docket,
                name=self.name,
                concurrency=self._settings.concurrency,
                redelivery_timeout=timedelta(seconds=lease_s),
                reconnection_delay=timedelta(seconds=1),
                minimum_check_interval=poll,
                scheduling_resolution=poll,
                schedule_automatic_tasks=False,
            ) as worker:
                serving = asyncio.create_task(worker.run_forever(), name="queue worker")
                ending = asyncio.create_task(self._ending.wait())
                await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
                ending.cancel()
            await serving

    async def _run(self, task_id: str) -> None:
        """Run a task the queue has brought, and enqueue it again where it is to be run once more."""
        try:
            again_in_s = cast(float | None, await _retried(BEGIN_TRIES)(self._runner.run, task_id))
        except MemoryUnavailable:
            again_in_s = self._settings.lease_s
        if again_in_s is not None:
            await self._queue.enqueue_again(task_id, again_in_s)
        elif self._settings.per_user:
            with contextlib.suppress(MemoryUnavailable):  # the sweep does it then
                if task := await self._repository.find(task_id):
                    await self._fair_queue.enqueue_of(task.owner)

    async def _sweep(self) -> None:
        """Enqueue the open tasks that are not enqueued: their creator died in between, or Redis lost a message.

        For a task that is enqueued or running, enqueueing changes nothing.
        """
        lease_s = self._settings.lease_s
        while True:
            await asyncio.sleep(lease_s)
            with contextlib.suppress(MemoryUnavailable):
                if not await self._repository.claim_sweep(lease_s):
                    continue
                now = time.time()
                waiting_owners: dict[str, None] = {}
                for task in await self._repository.unmoved(now - 3 * lease_s):
                    if task.state is TaskState.RUNNING:
                        await self._queue.enqueue(task.id)
                    elif task.setbacks.ready_at < now - lease_s:
                        waiting_owners[task.owner] = None
                for owner in waiting_owners:
                    await self._fair_queue.enqueue_of(owner)
