"""A due reminder reaches its user in a call, on an open page, or through a webhook.

It becomes one *notice* (`notifications.notices`), which is stored first: if every way is closed, the user's next call
speaks it, and the next page shows it. The reminder counts as delivered when its notice was, and is deleted only then.
So when a process dies, another one goes on. A webhook can get a reminder twice; its server recognises the delivery by
its id. A user hears one twice only if a call says it while the webhook is asked: rather that than never.

An attempt begins with a change of the record that sets the time of the next attempt. Only one process makes that
change, and if it dies, the next attempt still follows.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter as Count
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

from backend.errors import MemoryUnavailable, PeerError, VoiceError
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.reminders import Reminder, Way, begun, delivered, notice_of
from backend.notifications.repository import ReminderKey, ReminderRepository, UnreadableReminder
from backend.notifications.webhooks import WebhookClient
from backend.page_events import NoticeChanged, NoticeContent, PageEvent, ReminderChanged
from backend.runtime.supervisor import cancel_all, event_or_timeout, start_among, supervised

log = logging.getLogger(__name__)

LATE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 600, 3_600)
SETTLING_LIMIT = 1_000
"""The most delivered reminders that are updated at the same time; others are found delivered at their next attempt."""
LONGEST_SLEEP_S = 1.0
SHORTEST_SLEEP_S = 0.05
"""The fewest seconds between two checks, while a due reminder waits for room in this process."""
AT_ONCE = 32
"""The most attempts that one process makes at the same time."""
REST_S = 60.0
"""Seconds before the next attempt for a reminder that is undecodable, or failed with a fault of this server."""
RETRY_S = 1.0
"""Seconds before this process tries again after a failure, since Redis may be away only for a moment."""
CALL_TRIES = 3
"""Attempts that leave a reminder to a live call; three minutes after the first it goes on as without the call."""
EXECUTE_LIMIT = 200
"""The most reminders that one `execute` for all users delivers."""

Outcome = Literal["call", "webhook", "waiting", "nothing", "failed"]
"""`call`: a live call speaks it; `waiting`: open pages show it, and it is tried again; `nothing`: it is not due."""


class ReminderMetrics:
    """The metrics of reminders in this process: their outcomes, and the delay of their delivery."""

    def __init__(self) -> None:
        self._events = Counter(
            "voice_reminders",
            "What became of reminders: set, due, call, page, webhook, refused, canceled, given_up.",
            ["event"],
            registry=None,
        )
        self.late = Histogram(
            "voice_reminder_late_seconds",
            "From when a reminder was due until its delivery was begun.",
            buckets=LATE_BUCKETS_S,
            registry=None,
        )

    def register_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show the metrics of reminders."""
        registry.register(self._events)
        registry.register(self.late)

    def count(self, event: str) -> None:
        """Count one of the events that `voice_reminders` names."""
        self._events.labels(event).inc()


@dataclass(eq=False, repr=False)
class ReminderDelivery:
    """Delivers reminders in one process. Call `start` in a process that delivers, and `close` in every process.

    It sleeps until the next reminder, but checks every second, since other processes set reminders, too.
    """

    reminders: ReminderRepository
    notices: NotificationDispatcher
    show: Callable[[str, PageEvent], Awaitable[None]]
    """Shows an event on every open page of the user with that id, in every process."""
    webhook: WebhookClient | None
    """The webhook's owner closes it after the delivery."""
    metrics: ReminderMetrics
    clock: Callable[[], float] = time.time
    _working: dict[ReminderKey, asyncio.Task[Outcome]] = field(default_factory=dict, init=False)
    _settling: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _running: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Deliver due reminders from now on, until `close`."""
        self._running = supervised("reminders", self._run)

    def wake(self) -> None:
        """Check for due reminders now, since one was set or changed."""
        self._changed.set()

    async def execute(
        self, owner: str | None = None, among: Callable[[str], bool] = lambda owner: True
    ) -> dict[str, int]:
        """Attempt to deliver the due reminders of `owner` or all users `among`; return the number of each outcome.

        Raises `MemoryUnavailable`.
        """
        now = self.clock()
        if owner is None:
            ready = [key for key in (await self.reminders.due(now, EXECUTE_LIMIT))[0] if among(key[0])]
        else:
            ready = [(owner, each.id) for each in await self.reminders.all_of(owner) if 0 < each.wakes_at <= now]
        tasks = [self._begin(key) for key in ready]
        if tasks:
            await asyncio.wait(tasks)
        outcomes = Count(task.result() for task in tasks if not task.cancelled())
        shown: tuple[Outcome, ...] = ("call", "webhook", "waiting", "failed")
        return {"due": len(tasks) - outcomes["nothing"], **{name: outcomes[name] for name in shown}}

    async def deliver(self, owner: str, reminder_id: str) -> Outcome:
        """Attempt to deliver one reminder if it is due. Raises `MemoryUnavailable`."""
        now = self.clock()
        before, reminder = await self.reminders.update(owner, reminder_id, partial(begun, now=now))
        if before is None or reminder is None or not reminder.due:
            await self.withdraw(owner, reminder_id)
            if before and before.due:
                self.metrics.count("given_up")
            return "nothing"
        if reminder == before:
            return "nothing"  # It is not time yet, or another process has begun.
        if reminder.due != before.due:
            self.metrics.count("due")
            self.metrics.late.observe(max(0.0, now - reminder.due))
        if reminder.missed:
            await self.withdraw(owner, reminder_id, but=reminder.notice_id)
        return await self._reach(reminder)

    async def withdraw(self, owner: str, reminder_id: str, *, but: str = "") -> None:
        """Withdraw the notices of a reminder that still wait, except the notice `but`."""
        for notice in await self.notices.waiting(owner):
            # The notice of the latest due time stays.
            if notice.source == reminder_id and notice.kind == "reminder" and notice.id != but:
                await self.notices.withdraw(owner, notice.id)

    def on_delivered(self, owner: str, notice_id: str, way: Way) -> None:
        """Settle the reminder of a notice that was delivered. Returns immediately."""
        if notice_id.startswith("reminder-") and len(self._settling) < SETTLING_LIMIT:
            start_among(self._settling, "a delivered reminder", self._settle_quietly(owner, notice_id, way))

    async def report(self, owner: str, reminder_id: str, event: Literal["set", "canceled"]) -> None:
        """Count what a user did, and show it on the user's open pages."""
        self.metrics.count(event)
        await self.show(owner, ReminderChanged(reminder_id, event))

    async def close(self) -> None:
        """Stop, and leave the deliveries under way to another process."""
        await cancel_all([*self._working.values(), *self._settling, *([self._running] if self._running else [])])

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            sleep_s = LONGEST_SLEEP_S
            with contextlib.suppress(MemoryUnavailable):
                sleep_s = await self._begin_due()
            await event_or_timeout(self._changed, sleep_s)

    async def _begin_due(self) -> float:
        """Begin to deliver due reminders, and return the seconds until the next check."""
        ready, later = await self.reminders.due(self.clock(), 2 * AT_ONCE)
        for key in ready:
            if len(self._working) < AT_ONCE:
                self._begin(key)
        sleep_s = SHORTEST_SLEEP_S if ready else LONGEST_SLEEP_S
        return min(sleep_s, max(0.0, later - self.clock())) if later is not None else sleep_s

    def _begin(self, key: ReminderKey) -> asyncio.Task[Outcome]:
        if key not in self._working:
            task = asyncio.create_task(self._attempt(key), name="a reminder")
            task.add_done_callback(lambda _: self._working.pop(key))
            self._working[key] = task
        return self._working[key]

    async def _attempt(self, key: ReminderKey) -> Outcome:
        rests = True
        try:
            return await self.deliver(*key)
        except VoiceError as error:
            rests = isinstance(error, UnreadableReminder) or not isinstance(error, MemoryUnavailable)
            log.warning("a reminder could not be delivered, and is tried again: %s", type(error).__name__)
        except Exception as error:
            log.error("a reminder's delivery has a fault: %s", type(error).__name__, exc_info=error)
        if rests:
            with contextlib.suppress(MemoryUnavailable):
                await self.reminders.put_off(key, self.clock() + REST_S)
        await asyncio.sleep(RETRY_S)
        return "failed"

    async def _reach(self, reminder: Reminder) -> Outcome:
        owner, notice = reminder.owner, notice_of(reminder)
        if await self.notices.is_delivered(owner, notice.id):
            await self._settle(owner, notice.id, "call")
            return "call"
        await self.notices.notify(owner, notice)
        current = await self.reminders.get(owner, reminder.id)
        if current is None or current.notice_id != notice.id:  # It was withdrawn in the meantime.
            await self.notices.withdraw(owner, notice.id)
            return "nothing"
        if reminder.tries <= CALL_TRIES and await self.notices.is_on_call(owner):
            return "call"
        if reminder.tries > 1 and await self._sent(reminder):  # Until then an open page may confirm it.
            return "webhook"
        content = NoticeContent(notice.kind, notice.text, notice.source)
        await self.show(owner, NoticeChanged(notice.id, "waiting", content))
        return "waiting"

    async def _sent(self, reminder: Reminder) -> bool:
        """Post a reminder to the webhook. Return whether its server accepted it."""
        if self.webhook is None:
            return False
        data = {"user": reminder.owner, **reminder.to_json()}
        try:
            await self.webhook.send("reminder", data, delivery=reminder.notice_id)
        except PeerError as error:
            log.info("the webhook did not accept a reminder: %s", error)
            self.metrics.count("refused")
            return False
        await self.notices.withdraw(reminder.owner, reminder.notice_id)
        await self._settle(reminder.owner, reminder.notice_id, "webhook")
        return True

    async def _settle_quietly(self, owner: str, notice_id: str, way: Way) -> None:
        with contextlib.suppress(MemoryUnavailable):  # Its next attempt finds it delivered.
            await self._settle(owner, notice_id, way)

    async def _settle(self, owner: str, notice_id: str, way: Way) -> None:
        reminder_id = notice_id.removeprefix("reminder-").rpartition("-")[0]
        settle = partial(delivered, notice_id=notice_id, now=self.clock())
        before, _ = await self.reminders.update(owner, reminder_id, settle)
        # Only the notice of the due time settles the reminder.
        if before and before.due and before.notice_id == notice_id:
            self.metrics.count(way)
            await self.show(owner, ReminderChanged(reminder_id, "delivered", way))
