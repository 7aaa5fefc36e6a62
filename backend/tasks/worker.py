"""The worker takes tasks from the queue, one by one, and runs each to its end.

    take ─► work ──┬─► answer ─► finish                     (and its result's entry, in the same transaction)
                   ├─► failure ─► fail ─► again in 5 s, once, or over
                   ├─► 300 s: hurried, to answer with what is there ─► 600 s: stopped, over
                   ├─► the record says it is no longer ours ─► stopped, nothing written
                   └─► this worker ends ─► handed back, for another to go on from its steps

Any number of workers may run, in any process on any machine that reaches the same Redis. If a worker is killed, the
leases of its tasks expire, and other workers take them; a worker that ends in order hands them back immediately.
"""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt, wait_fixed

from backend.errors import BadRequest, MemoryUnavailable, PeerError, VoiceError
from backend.observability.logs import log_ids
from backend.observability.tracing import NO_TRACER, Tracer, opened, rooted
from backend.runtime.supervisor import cancel_all, event_or_timeout, supervised
from backend.settings.tasks import BackgroundSettings
from backend.tasks.model_call_log import ModelCallLog
from backend.tasks.repository import TaskRepository, record_key
from backend.tasks.task import Superseded, Task, TaskResult, TaskState
from backend.thinkers.base import Checkpoints, Manifest, Question, ThinkerProgress
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.tools.base import ToolRights

log = logging.getLogger(__name__)

UNSAVED_LIMIT = 20
"""The most progress reports that wait to be written; older ones are dropped."""
STOP_WITHIN_S = 2.0
"""Seconds stopped work may take to clean up before the worker stops waiting for it."""
END_TRIES = 30
"""How often the end of a run is written, a second apart, while Redis does not answer."""
END_WITHIN_S = 5.0
"""Seconds a worker's end may take."""
CHECK_S = 0.5
"""Seconds between two checks whether a run still has its task, each of which renews its lease."""
POLL_S = 0.5
"""Seconds between two checks for a task, unless a message wakes the worker."""


class TaskRun(Checkpoints):
    """The run of a task: keeps the checkpoints of the work, and takes its progress."""

    def __init__(self, task: Task, repository: TaskRepository, steps: dict[str, object]) -> None:
        super().__init__(steps)
        self.task = task
        self._repository = repository
        self._unsaved: deque[str] = deque(maxlen=UNSAVED_LIMIT)

    def progress(self, detail: str) -> None:
        """Report the progress of the work, without the user's words. Returns immediately."""
        log.info("task %s: %s", self.task.id, detail)
        self._unsaved.append(detail)

    async def save(self, name: str, value: Any) -> None:
        """Save the value of a step. A step that cannot be stored is repeated in the next run, if there is one."""
        await super().save(name, value)
        try:
            await self._repository.save_step(self.task, name, value)
        except (MemoryUnavailable, ValueError) as error:
            log.warning("a step of a task could not be stored: %s", error)

    async def save_progress(self) -> None:
        """Write the progress reported so far. Raises `Superseded`."""
        while self._unsaved:
            oldest = self._unsaved[0]
            await self._repository.report_progress(self.task, oldest)
            if self._unsaved[0] is oldest:  # else newer ones have taken its place meanwhile
                self._unsaved.popleft()


TaskWork = Callable[[TaskRun], Awaitable[TaskResult]]
"""Does the work of a task. Raises a `VoiceError` with a text that can be spoken, and stops when cancelled."""


def background_kinds(manifests: tuple[Manifest, ...]) -> frozenset[str]:
    """Return the domains that can be done in the background."""
    return frozenset(manifest.domain for manifest in manifests if manifest.background)


def thinker_work(thinkers: ThinkerDispatcher, model_calls: ModelCallLog, tracer: Tracer = NO_TRACER) -> TaskWork:
    """Return a work that asks a Thinker, with the run's deadline alone. Raises like `ThinkerDispatcher`.

    Each run has its own trace, beside those of its conversation.
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
            rights=ToolRights(task.scope).alone(),
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
class Worker:
    """Runs tasks in this process. Other workers take it for dead once the leases of its tasks expire."""

    repository: TaskRepository
    work: TaskWork
    settings: BackgroundSettings
    check_s: float = CHECK_S
    name: str = field(default_factory=lambda: f"{socket.gethostname()}#{os.getpid()}#{secrets.token_hex(3)}")
    _running: dict[asyncio.Task[None], asyncio.Future[TaskResult] | None] = field(default_factory=dict, init=False)
    """The runs, each with its work once that has begun."""
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _ending: bool = field(default=False, init=False)

    @property
    def running(self) -> int:
        """The number of tasks that run here."""
        return len(self._running)

    def wake(self, _: object = None) -> None:
        """Look for a task now; also an observer of pub/sub messages, whatever they say."""
        self._woken.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run tasks from the queue until the end of the block, then hand running ones back."""
        working = supervised("task worker", self._take_all)
        try:
            yield
        finally:
            self._ending = True
            self.wake()
            for work in self._running.values():
                if work is not None:
                    work.cancel()
            await asyncio.wait({working}, timeout=END_WITHIN_S)  # It takes no further task before the rest is awaited.
            _, late = await asyncio.wait({working, *self._running}, timeout=END_WITHIN_S)
            if late:
                log.warning("a worker did not end in time; its tasks go to another when their lease is over")
            await cancel_all(late, within_s=STOP_WITHIN_S)

    async def _take_all(self) -> None:
        """Take tasks whenever there is room for one, until the worker ends."""
        while not self._ending:
            self._woken.clear()
            with suppress(MemoryUnavailable):
                while self._has_room() and (task := await self.repository.take()):
                    self._start(task)
            await event_or_timeout(self._woken, POLL_S)

    def _has_room(self) -> bool:
        return self.running < self.settings.concurrency and not self._ending

    def _start(self, task: Task) -> None:
        run = asyncio.create_task(self._run(task), name="background task")
        self._running[run] = None
        run.add_done_callback(self._over)

    def _over(self, run: asyncio.Task[None]) -> None:
        del self._running[run]
        self.wake()
        if not run.cancelled() and (error := run.exception()) is not None:
            log.warning("a task's run broke off, and another follows: %s", type(error).__name__)

    async def _run(self, task: Task) -> None:
        """Run that task once. When cancelled, stop the work and leave the record as it is.

        Raises `MemoryUnavailable` when the run cannot be ended: another begins once its lease is over.
        """
        if task.state is not TaskState.RUNNING:
            return
        log.info("task %s is begun, run %d", task.id, task.run)
        run = TaskRun(task, self.repository, await self.repository.steps(task.id))
        work = asyncio.ensure_future(self.work(run))
        current = asyncio.current_task()
        assert current is not None
        self._running[current] = work
        try:
            await self._watch(run, work)
            await self._end(run, work)
        except Superseded:
            log.info("task %s is no longer this run's", task.id)
        finally:
            await _stop(work)

    async def _watch(self, run: TaskRun, work: asyncio.Future[TaskResult]) -> None:
        """Wait until the work is done, stopped, or out of time. Raises `Superseded`."""
        began = time.monotonic()
        if self._ending:  # since the task was taken
            work.cancel()
        while not work.done():
            await asyncio.wait({work}, timeout=self.check_s)
            await self._check(run)
            spent = time.monotonic() - began
            run.hurried = run.hurried or spent >= self.settings.hard_limit_s / 2
            if spent >= self.settings.hard_limit_s and not work.done():
                work.cancel()
                return

    async def _check(self, run: TaskRun) -> None:
        """Save the progress and renew the lease. Raises `Superseded` when the task is no longer this run's."""
        with suppress(MemoryUnavailable):
            await run.save_progress()
            await self.repository.renew(run.task)

    async def _end(self, run: TaskRun, work: asyncio.Future[TaskResult]) -> None:
        await asyncio.wait({work}, timeout=STOP_WITHIN_S)
        task, repository = run.task, self.repository
        if self._ending and (not work.done() or work.cancelled()):
            await repository.hand_back(task)
        elif not work.done() or work.cancelled():
            late = f"It took longer than {self.settings.hard_limit_s:g} seconds."
            await _persistently(repository.fail, task, late, retry=False)
        elif (error := work.exception()) is None:
            await _persistently(repository.finish, task, work.result())
        elif isinstance(error, Superseded):
            raise error
        else:
            retry = error.retryable if isinstance(error, PeerError) else not isinstance(error, BadRequest)
            await _persistently(repository.fail, task, _speakable(error), retry=retry)
        log.info("task %s is over, run %d", task.id, task.run)


async def _persistently(write: Callable[..., Awaitable[object]], *arguments: Any, **options: Any) -> None:
    """Write the end of a run to a Redis that may be away for a moment."""
    missing = retry_if_exception_type(MemoryUnavailable)
    tries = AsyncRetrying(stop=stop_after_attempt(END_TRIES), wait=wait_fixed(1.0), retry=missing, reraise=True)
    await tries(write, *arguments, **options)


async def _stop(work: asyncio.Future[TaskResult]) -> None:
    """Stop the work with its run; work that does not stop is left behind, and logged."""
    work.cancel()
    await asyncio.wait({work}, timeout=STOP_WITHIN_S)
    if not work.done():
        log.warning("the work on a task did not stop in time")
    elif not work.cancelled():
        work.exception()  # Retrieve it, so that asyncio does not report it.


def _speakable(error: BaseException) -> str:
    if isinstance(error, VoiceError):
        return str(error)
    log.error("the work on a task is broken: %s", type(error).__name__)  # without its text: it may hold a user's words
    return "The specialist had an internal fault."
