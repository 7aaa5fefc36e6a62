"""The coordinator: thinks about what happened for each user, acts, and has told what there is to tell.

    channel ─► history ─► decide ─► plan ─► actions ─► publish ─► acknowledge
                            │ fails: a plain plan instead

One process acts for a user at a time (`Leases`); which one does not matter. Whatever dies, and whenever: entries stay
in the channel until the plan they led to has taken effect, a plan stands once it is written, and every effect goes by
an id. So nothing is lost, and nothing happens twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from backend.coordinator.actions import CancelTask, CaptureFeedback, CreateTask, SummarizeTaskResult
from backend.coordinator.channels import Channels, Entry, Leases
from backend.coordinator.decisions import Decision
from backend.coordinator.digest import Happened, Pace, Thought, due_at, plain
from backend.coordinator.state import Notebook, Plan
from backend.errors import CallerError, MemoryUnavailable, VoiceError
from backend.notifications.notices import Notice, NoticeKind, Notifier
from backend.tasks.task import Task, Tasks, normalised

log = logging.getLogger(__name__)

LOOK_S = 0.25
"""Seconds between two looks at who has something waiting, while somebody has."""
IDLE_LOOK_S = 2.0
"""And while nobody has: we are woken when something comes, and a message to wake us may be lost."""
AT_ONCE = 4
"""Users one process thinks about at the same time; others wait for the next look."""
TASKS_SHOWN = 20
"""Tasks of a user looked through."""
REST_S = 5.0
"""Seconds a user is left alone after a digest that broke off."""
ENTRIES = 50
"""Entries one digest takes in; what more there is goes into the next."""


class Decides(Protocol):
    """See `deciding.Mind`."""

    async def decide(
        self,
        user_id: str,
        digest_id: str,
        happened: Sequence[Happened],
        history: Sequence[Thought],
        tasks: Sequence[Task],
    ) -> Decision:
        """Raises a `VoiceError`."""
        ...


Listening = Callable[[str], Awaitable[bool]]
"""Whether that user is on a call now."""
Show = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""User id, event type, data: to that user's pages, everywhere."""


class Coordinator:
    """One process's coordinator. `run` it in a task; cancelling that stops what is being thought about."""

    def __init__(
        self,
        channels: Channels,
        leases: Leases,
        notebook: Notebook,
        tasks: Tasks,
        mind: Decides,
        notifier: Notifier,
        *,
        listening: Listening,
        show: Show,
        pace: Pace,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._channels = channels
        self._leases = leases
        self._notebook = notebook
        self._tasks = tasks
        self._mind = mind
        self._notifier = notifier
        self._listening = listening
        self._show = show
        self._pace = pace
        self._clock = clock
        self._working: dict[str, asyncio.Task[None]] = {}
        self._rests: dict[str, float] = {}
        self._news = asyncio.Event()

    def __repr__(self) -> str:
        return f"Coordinator({len(self._working)} digests)"

    @property
    def working(self) -> int:
        """Users being thought about in this process."""
        return len(self._working)

    def wake(self, _: object = None) -> None:
        """Something may have come for somebody. Also a `storage.pubsub.Hear`: what of, is looked up."""
        self._news.set()

    async def run(self) -> None:
        """Look who has something waiting, and see to it when it is due; until cancelled."""
        try:
            while True:
                self._news.clear()
                somebody_waits = True
                with contextlib.suppress(MemoryUnavailable):
                    somebody_waits = await self._look()
                if somebody_waits:
                    await asyncio.sleep(LOOK_S)
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_LOOK_S):
                        await self._news.wait()
        finally:
            working = list(self._working.values())
            for task in working:
                task.cancel()
            if working:
                await asyncio.wait(working)

    async def attend(self, user_id: str) -> bool:
        """One digest of that user, whether it is due or not; one that was broken off is finished first.

        False when another process is at it, or nothing waits. May raise a `PeerError`.
        """
        if not await self._leases.take(user_id):
            return False
        keeping = asyncio.create_task(self._leases.keep(user_id), name="coordinator's lease")
        try:
            plan = await self._notebook.plan(user_id) or await self._plan(user_id)
            if plan is not None:
                await self._carry_out(user_id, plan)
            return plan is not None
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])
            if not keeping.cancelled():
                keeping.exception()  # a lease that could not be kept is another's by now, and effects go by ids
            with contextlib.suppress(MemoryUnavailable):
                await self._leases.drop(user_id)

    # --- when -----------------------------------------------------------------------------------------

    async def _look(self) -> bool:
        """Begin what is due. Whether anything waits at all."""
        now = self._clock()
        self._rests = {user: until for user, until in self._rests.items() if until > now}
        waiting = await self._channels.users()
        for user in waiting:
            if len(self._working) >= AT_ONCE:
                break
            if user not in self._working and user not in self._rests and await self._due(user, now):
                self._working[user] = asyncio.create_task(self._see_to(user), name="digest")
        return bool(waiting)

    async def _due(self, user_id: str, now: float) -> bool:
        waiting = await self._channels.waiting(user_id)
        if await self._notebook.plan(user_id) is not None:
            return True
        if not waiting:
            await self._channels.rest(user_id)  # it is listed for nothing
            return False
        state = await self._notebook.state(user_id)
        due = due_at(waiting, state["last_at"], listening=await self._listening(user_id), pace=self._pace)
        return due is not None and due <= now

    async def _see_to(self, user_id: str) -> None:
        try:
            if not await self.attend(user_id):
                self._rests[user_id] = self._clock() + LOOK_S
        except VoiceError as error:
            log.warning("a digest broke off, and is tried again: %s", type(error).__name__)
            self._rests[user_id] = self._clock() + REST_S
        except Exception as error:
            log.error("a digest is broken: %s", type(error).__name__, exc_info=error)
            self._rests[user_id] = self._clock() + REST_S
        finally:
            del self._working[user_id]

    # --- what -----------------------------------------------------------------------------------------

    async def _plan(self, user_id: str) -> Plan | None:
        """History first, then the decision, written down before anything of it is done."""
        entries = await self._channels.take(user_id, ENTRIES)
        if not entries:
            await self._channels.rest(user_id)
            return None
        happened = [Happened(entry, await self._task(user_id, entry)) for entry in entries]
        await self._notebook.remember(user_id, [each.thought() for each in happened])
        sources = tuple(dict.fromkeys(entry.task_id for entry in entries if entry.task_id))
        digest_id = entries[-1].id
        decision, failure = await self._decided(user_id, digest_id, happened)
        ids = tuple(entry.id for entry in entries)
        plan = Plan(
            digest_id,
            self._clock(),
            ids,
            sources,
            decision.text,
            decision.actions,
            decision.invalid,
            failure,
        )
        return await self._notebook.keep(user_id, plan)

    async def _task(self, user_id: str, entry: Entry) -> Task | None:
        return await self._tasks.get(user_id, entry.task_id) if entry.task_id else None

    async def _decided(self, user_id: str, digest_id: str, happened: Sequence[Happened]) -> tuple[Decision, str]:
        """What to do; when that cannot be thought about, what is plain, and why."""
        history = await self._notebook.history(user_id)
        tasks = await self._tasks.list(user_id, TASKS_SHOWN)
        try:
            return await self._mind.decide(user_id, digest_id, happened, history, tasks), ""
        except MemoryUnavailable:
            raise
        except VoiceError as error:
            log.warning("nobody could think about a digest (%s): what is plain is told", type(error).__name__)
            return Decision(plain(happened)), str(error)

    async def _carry_out(self, user_id: str, plan: Plan) -> None:
        for number, action in enumerate(plan.actions):
            if not await self._notebook.is_done(user_id, plan, number):
                await self._act(user_id, plan, number, action)
                await self._notebook.mark_done(user_id, plan, number)
        if plan.failure:
            await self._notebook.feedback(user_id, f"{plan.id}:failure", {"feeling": "failure", "text": plan.failure})
        if plan.decision:
            await self._publish(user_id, plan)
        await self._channels.acknowledge(user_id, plan.entries, rest=False)  # a plan that is not finished is looked for
        await self._notebook.finish(user_id, plan)
        await self._channels.rest(user_id)

    async def _act(self, user_id: str, plan: Plan, number: int, action: Any) -> None:
        """One action. One that cannot be done any more is recorded; a Redis that is away stops the digest."""
        try:
            match action:
                case CreateTask(kind, instruction):
                    await self._create(user_id, plan, kind, instruction)
                case CancelTask(task_id):
                    await self._tasks.cancel(user_id, task_id)
                case SummarizeTaskResult(task_id, summary):
                    thought = Thought(f"summary-{task_id}", plan.at, "summary", f"task {task_id}: {summary}")
                    await self._notebook.remember(user_id, [thought])
                case CaptureFeedback(feeling, text):
                    note = {"feeling": feeling, "text": text, "at": plan.at}
                    await self._notebook.feedback(user_id, f"{plan.id}:{number}", note)
        except CallerError as error:
            note = {"feeling": "failure", "text": f"{type(action).__name__}: {error}", "at": plan.at}
            await self._notebook.feedback(user_id, f"{plan.id}:{number}", note)

    async def _create(self, user_id: str, plan: Plan, kind: str, instruction: str) -> None:
        """Begin it, unless this plan has done so before it could write that down."""
        wanted = (kind, normalised(instruction))
        for task in await self._tasks.list(user_id, TASKS_SHOWN):
            if task.created_at >= plan.at and (task.kind, normalised(task.instruction)) == wanted:
                return
        await self._tasks.create(user_id, kind, instruction, source_mode="voice")

    async def _publish(self, user_id: str, plan: Plan) -> None:
        """The decision: into the history, to the notification dispatcher, onto the page."""
        await self._notebook.remember(user_id, [Thought(f"decision-{plan.id}", plan.at, "decision", plan.decision)])
        source = plan.sources[0] if len(plan.sources) == 1 else ""
        kind: NoticeKind = "result" if plan.sources else "decision"
        await self._notifier.notify(user_id, Notice(notice_id(plan), plan.decision, kind, source, plan.at))
        data = {"id": plan.id, "text": plan.decision, "tasks": list(plan.sources), "failure": plan.failure}
        await self._show(user_id, "decision", data | {"actions": [_shown(action) for action in plan.actions]})


def notice_id(plan: Plan) -> str:
    """The notice a plan's decision is told by."""
    return f"decision-{plan.id}"


def _shown(action: Any) -> str:
    return str(action.__struct_config__.tag)
