"""The coordinator decides what to do about each user's results and words, does it, and notifies the user.

    channel ─► history ─► decide ─► plan ─► actions ─► notify ─► acknowledge
                            │ fails: the fallback text instead

Any process may work for a user, but only one at a time, under a lease. After a crash nothing is lost and nothing
happens twice: entries stay in the channel until their plan has taken effect, a written plan never changes, and every
effect has an id.

A digest is due:

    waits                        the user is on a call                the user is not
    --------------------------   ----------------------------------   ------------------------------------
    a result                     LISTENER_AFTER_S after it arrived    max_result_wait_s after it arrived (*)
    something said               GATHER_S after it was said (*)       the same
    nothing                      never

    (*) but at least min_interval_s after the previous digest. Everything else that waits by then is included.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from backend.access.principal import PUBLIC, CallerScope
from backend.coordinator.store import (
    Action,
    CancelTask,
    CaptureFeedback,
    ChannelEntry,
    Channels,
    CoordinatorState,
    CreateTask,
    Feedback,
    HistoryEntry,
    Plan,
    SummarizeTaskResult,
)
from backend.errors import CallerError, MemoryUnavailable, VoiceError
from backend.language.sentences import first_sentences
from backend.notifications.notices import Notice, NoticeKind
from backend.page_events import DecisionMade
from backend.runtime.supervisor import cancel_all, event_or_timeout
from backend.settings.tasks import CoordinatorSettings
from backend.tasks.service import TaskService
from backend.tasks.task import Task, TaskState

log = logging.getLogger(__name__)

POLL_S = 0.25
"""Seconds between two checks for waiting entries while there are some."""
IDLE_POLL_S = 2.0
"""Seconds between two checks while there are none, because a message that wakes the coordinator may be lost."""
CONCURRENCY = 4
"""The most users one process works for at the same time; others wait for the next check."""
LISTENER_AFTER_S = 0.5
"""Seconds from a result to its digest while the user is on a call."""
GATHER_S = 1.0
"""Seconds to wait for more after a user has said something."""
TASKS_SHOWN = 20
"""The most tasks of a user that a digest shows."""
PAUSE_S = 5.0
"""Seconds before another try after a digest that broke off."""
ENTRIES_LIMIT = 50
"""The most entries of one digest; others go into the next."""
RESULT_CHARS = 2_000
"""The most characters of a task's result in a digest."""
TASK_CHARS = 120
"""The most characters of a task's instruction in a decision's summary of the tasks."""
FALLBACK_CHARS = 400
"""The most characters of a task's result that the fallback without a model speaks."""


@dataclass(frozen=True, slots=True)
class DigestItem:
    """A digest item is an entry of the channel, with the task it points to if that still exists."""

    entry: ChannelEntry
    task: Task | None = None

    def history_entry(self) -> HistoryEntry:
        """Return the item as an entry of the history."""
        entry, task = self.entry, self.task
        if entry.kind == "input":
            return HistoryEntry(entry.id, entry.at, "input", entry.text)
        words = (
            f"{task.kind}: {task.instruction} → {outcome_of(task)}" if task else f"task {entry.task_id}, now forgotten"
        )
        return HistoryEntry(entry.id, entry.at, "result", words[:RESULT_CHARS])


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest is the situation of a user about which to decide."""

    id: str
    user_id: str
    items: Sequence[DigestItem]
    history: Sequence[HistoryEntry] = ()
    tasks: Sequence[Task] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision says what to do about a digest. `text` is empty when there is nothing to say."""

    text: str
    actions: tuple[Action, ...] = ()
    invalid: tuple[str, ...] = ()
    """Actions that were refused, and why."""


@dataclass(eq=False, repr=False)
class Coordinator:
    """A coordinator runs the digests of one process. Supervise `run`; cancelling it stops running digests."""

    channels: Channels
    state: CoordinatorState
    tasks: TaskService
    decide: Callable[[Digest], Awaitable[Decision]]
    """Decides about a digest, or raises a `VoiceError`."""
    notify: Callable[[str, Notice], Awaitable[None]]
    """Sends a notice to that user, to be spoken on the live call or the next one (`NotificationDispatcher`)."""
    is_listening: Callable[[str], Awaitable[bool]]
    """Returns whether the user with that id is on a call now."""
    publish: Callable[[str, DecisionMade], Awaitable[None]]
    """Shows an event on every open page of that user, in every process."""
    settings: CoordinatorSettings
    clock: Callable[[], float] = time.time
    working: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    """The digests under way, by user."""
    _paused: dict[str, float] = field(default_factory=dict, init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def wake(self, _: object = None) -> None:
        """Look immediately for users with waiting entries; also an observer of pub/sub messages, whatever they say."""
        self._woken.set()

    async def run(self) -> None:
        """Begin the digests that are due, until cancelled."""
        try:
            while True:
                self._woken.clear()
                entries_wait = True
                with contextlib.suppress(MemoryUnavailable):
                    entries_wait = await self._begin_due()
                if entries_wait:
                    await asyncio.sleep(POLL_S)
                else:
                    await event_or_timeout(self._woken, IDLE_POLL_S)
        finally:
            await cancel_all(list(self.working.values()))

    async def run_digest(self, user_id: str) -> bool:
        """Run one digest of that user, due or not. A plan that broke off is finished first.

        Returns False when another process is doing it, or nothing waits. May raise a `PeerError`.
        """
        async with self.channels.lease(user_id).held() as is_ours:
            if not is_ours:
                return False
            plan = await self.state.plan(user_id)
            entries = await self.channels.waiting(user_id, ENTRIES_LIMIT)
            if plan is None and not entries:
                await self.channels.unlist(user_id)
                return False
            return await self._cycle(user_id, plan, entries)

    async def _cycle(self, user_id: str, plan: Plan | None, entries: Sequence[ChannelEntry]) -> bool:
        """Decide, unless there is a plan already, and carry the plan out; log the beginning and the end.

        Returns False if the user's data was erased meanwhile.
        """
        digest, began, outcome = plan.id if plan else entries[-1].id, time.monotonic(), "broken off"
        log.info("thinker_start: digest-%s, %d entries%s", digest, len(entries), ", decided before" if plan else "")
        try:
            plan = plan or await self._plan(user_id, entries)
            if plan is None:
                outcome = "erased"
                return False
            await self._carry_out(user_id, plan)
            outcome = "not decided, fallback" if plan.failure else f"decided, {len(plan.actions)} actions"
            return True
        finally:
            log.info("thinker_end: digest-%s %s, %d ms", digest, outcome, (time.monotonic() - began) * 1000)

    async def _begin_due(self) -> bool:
        """Begin the digests that are due, and return whether any user's entries wait."""
        now = self.clock()
        self._paused = {user: until for user, until in self._paused.items() if until > now}
        waiting = await self.channels.users()
        for user in waiting:
            if len(self.working) >= CONCURRENCY:
                break
            if user in self.working or user in self._paused:
                continue
            try:
                if await self._is_due(user, now):
                    await self.channels.move_last(user)
                    self.working[user] = asyncio.create_task(self._work(user), name="digest")
            except MemoryUnavailable as error:  # It may concern this user's data alone.
                self._pause(user, error)
        return bool(waiting)

    async def _is_due(self, user_id: str, now: float) -> bool:
        waiting = await self.channels.waiting(user_id)
        if await self.state.plan(user_id) is not None:
            return True
        if not waiting:
            await self.channels.unlist(user_id)
            return False
        status = await self.state.status(user_id)
        is_listening = await self.is_listening(user_id)
        due = due_at(waiting, status.last_at, is_listening=is_listening, settings=self.settings)
        return due is not None and due <= now

    async def _work(self, user_id: str) -> None:
        """Run one digest. A failure costs its user a pause, and other users nothing."""
        try:
            if not await self.run_digest(user_id):
                self._paused[user_id] = self.clock() + POLL_S
        except VoiceError as error:
            self._pause(user_id, error)
        except Exception as error:
            log.error("a digest failed: %s", type(error).__name__, exc_info=error)
            self._paused[user_id] = self.clock() + PAUSE_S
        finally:
            del self.working[user_id]

    def _pause(self, user_id: str, error: VoiceError) -> None:
        log.warning("a digest broke off, and is tried again: %s", type(error).__name__)
        self._paused[user_id] = self.clock() + PAUSE_S

    async def _plan(self, user_id: str, entries: Sequence[ChannelEntry]) -> Plan | None:
        """Write the history, then decide, and write the plan before any part of it is carried out."""
        tasks = [await self.tasks.get(user_id, entry.task_id) if entry.task_id else None for entry in entries]
        items = [DigestItem(entry, task) for entry, task in zip(entries, tasks, strict=True)]
        await self.state.add_history(user_id, [item.history_entry() for item in items])
        history = await self.state.history(user_id)
        listed = await self.tasks.list(user_id, TASKS_SHOWN)
        decision, failure = await self._decide(Digest(entries[-1].id, user_id, items, history, listed))
        plan = Plan(
            entries[-1].id,
            self.clock(),
            tuple(entry.id for entry in entries),
            tuple(dict.fromkeys(entry.task_id for entry in entries if entry.task_id)),
            decision.text,
            decision.actions,
            decision.invalid,
            failure,
            tuple(entry.id for entry in entries if entry.kind == "input"),
            task_summary(listed),
            scope_within([entry.scope for entry in entries]),
        )
        return await self.state.set_plan(user_id, plan)

    async def _decide(self, digest: Digest) -> tuple[Decision, str]:
        """Return the decision, or the fallback and the reason why nothing was decided."""
        try:
            return await self.decide(digest), ""
        except MemoryUnavailable:
            raise
        except VoiceError as error:
            log.warning("a digest was not decided on (%s): the fallback is used", type(error).__name__)
            return Decision(fallback_text(digest.items)), str(error)

    async def _carry_out(self, user_id: str, plan: Plan) -> None:
        for number, action in enumerate(plan.actions):
            await self._act(user_id, plan, number, action)
        if plan.failure:
            await self.state.add_feedback(user_id, f"{plan.id}:failure", Feedback("failure", plan.failure))
        if plan.decision:
            await self._notify(user_id, plan)
        # The user stays listed until the plan is finished: otherwise no process would find a broken-off plan.
        await self.channels.acknowledge(user_id, plan.entries)
        await self.state.finish(user_id, plan)
        await self.channels.unlist(user_id)

    async def _act(self, user_id: str, plan: Plan, number: int, action: Action) -> None:
        """Carry out an action. One that is no longer possible is recorded; without Redis the digest breaks off."""
        try:
            match action:
                case CreateTask(kind, instruction):
                    await self.tasks.create(user_id, kind, instruction, once=f"{plan.id}:{number}", scope=plan.scope)
                case CancelTask(task_id):
                    await self.tasks.cancel(user_id, task_id)
                case SummarizeTaskResult(task_id, summary):
                    entry = HistoryEntry(f"summary-{task_id}", plan.at, "summary", f"task {task_id}: {summary}")
                    await self.state.add_history(user_id, [entry])
                case CaptureFeedback(feeling, text):
                    await self.state.add_feedback(user_id, f"{plan.id}:{number}", Feedback(feeling, text, plan.at))
        except CallerError as error:
            failure = Feedback("failure", f"{type(action).__name__}: {error}", plan.at)
            await self.state.add_feedback(user_id, f"{plan.id}:{number}", failure)

    async def _notify(self, user_id: str, plan: Plan) -> None:
        """Add the decision to the history, notify the user, and show it on the user's pages."""
        await self.state.add_history(user_id, [HistoryEntry(f"decision-{plan.id}", plan.at, "decision", plan.decision)])
        source = plan.sources[0] if len(plan.sources) == 1 else ""
        kind: NoticeKind = "result" if plan.sources else "decision"
        notice = Notice(f"decision-{plan.id}", plan.decision, kind, source, plan.at)
        await self.notify(user_id, notice)
        actions = tuple(str(action.__struct_config__.tag) for action in plan.actions)
        event = DecisionMade(
            plan.id, plan.decision, plan.sources, plan.failure, actions, plan.inputs, plan.task_summary
        )
        await self.publish(user_id, event)


def due_at(
    waiting: Sequence[ChannelEntry], last_at: float, *, is_listening: bool, settings: CoordinatorSettings
) -> float | None:
    """Return the time of the next digest; None without waiting entries. The last digest was at `last_at`."""
    inputs = [entry.at for entry in waiting if entry.kind == "input"]
    results = [entry.at for entry in waiting if entry.kind == "result"]
    times = []
    if results and is_listening:
        times.append(min(results) + LISTENER_AFTER_S)
    elif results:
        times.append(max(last_at + settings.min_interval_s, min(results) + settings.max_result_wait_s))
    if inputs:
        times.append(max(last_at + settings.min_interval_s, min(inputs) + GATHER_S))
    return min(times, default=None)


def scope_within(scopes: Sequence[CallerScope]) -> CallerScope:
    """Return the scope within all of these. If they differ, and one names its tools, no tool is within it."""
    if len(set(scopes)) > 1 and any(each.tools is not None for each in scopes):
        return CallerScope(tools=frozenset())
    return min(scopes, key=lambda each: each.scope, default=PUBLIC)


async def decide_without_model(digest: Digest) -> Decision:
    """Return a decision that says the results as they are."""
    return Decision(fallback_text(digest.items))


def fallback_text(items: Sequence[DigestItem]) -> str:
    """Return the words of a decision without a model: plain results, and an apology for other requests."""
    said = [_plain_result(item.task) for item in items if item.task]
    if any(item.entry.mode == "api" for item in items):
        said.append("Something you asked for could not be taken care of just now. Please ask again.")
    return " ".join(said)


def _plain_result(task: Task) -> str:
    subject = task.instruction.strip().rstrip(".?!")
    if task.state is not TaskState.DONE:
        return f"I could not finish this: {subject}. {task.error}".strip()
    return f"I have an answer to this: {subject}. {first_sentences(task.result, FALLBACK_CHARS)}"


def outcome_of(task: Task) -> str:
    """Return the result of a task, or why there is none, cut to `RESULT_CHARS`."""
    return (task.result or task.error or task.state.value)[:RESULT_CHARS]


def task_summary(tasks: Sequence[Task]) -> str:
    """Return one line for each task: its instruction and its state."""
    lines = ((task.kind, " ".join(task.instruction.split())[:TASK_CHARS], task.state.value) for task in tasks)
    return "\n".join(f"{kind}: {instruction} ({state})" for kind, instruction, state in lines)
