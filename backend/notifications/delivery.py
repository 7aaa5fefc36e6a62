"""How a reminder that is due reaches its user: spoken in a call, shown on an open page, or posted to a webhook.

Whichever way, it is one *notice* (see `notifications.notices`), kept before anything else is tried: should all ways be
closed, the user's next call speaks it, and the next page shows it. The reminder is delivered when its notice was, and
only then is it gone. So whichever process dies, and whenever, another goes on, and no user is reminded twice but by a
webhook; the webhook's server can recognize the delivery by its id.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from prometheus_client import CollectorRegistry, Counter, Histogram

from backend.errors import MemoryUnavailable, PeerError
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.reminders import CALL_TRIES, Reminder, Way, begun, delivered, notice_of, tried
from backend.notifications.repository import ReminderRepository
from backend.notifications.webhooks import WebhookClient
from backend.page_events import NoticeChanged, NoticeContent, PageEvent, ReminderChanged
from backend.runtime.supervisor import cancel_all, start_among
from backend.settings.notifications import NotificationSettings

log = logging.getLogger(__name__)

DAY_S = 86_400
SHOWN_WITHIN_S = 3.0
"""Seconds an open page has to say that it shows a reminder."""
POLL_EVERY_S = 0.1
LATE_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 600, 3_600)
SETTLING_LIMIT = 1_000
"""Records of delivered reminders under change at the same time; more are found delivered at their next attempt."""

Outcome = Literal["call", "page", "webhook", "waiting", "nothing", "elsewhere"]
"""call: a live call has it to speak; page, webhook: delivered there; waiting: tried again later; nothing: there was
nothing to do; elsewhere: another process is delivering it."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The ways to a user. Their owner closes them after the delivery."""

    notices: NotificationDispatcher
    show: Callable[[str, PageEvent], Awaitable[None]]
    """Shows an event on every open page of the user with that id, in every process."""
    has_page: Callable[[str], Awaitable[bool]]
    """Returns whether a page of that user is open in some process."""
    webhook: WebhookClient | None


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

    def show_in(self, registry: CollectorRegistry) -> None:
        """Have `/metrics` show the metrics of reminders."""
        registry.register(self._events)
        registry.register(self.late)

    def count(self, event: str) -> None:
        """Count one of the events that `voice_reminders` names."""
        self._events.labels(event).inc()


@dataclass(eq=False, repr=False)
class ReminderDelivery:
    """One process's share in delivering reminders."""

    reminders: ReminderRepository
    routes: Routes
    metrics: ReminderMetrics
    settings: NotificationSettings
    clock: Callable[[], float] = time.time
    _settling: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def __repr__(self) -> str:
        return f"ReminderDelivery({len(self._settling)} being settled)"

    async def deliver(self, owner: str, reminder_id: str) -> Outcome:
        """Take the next step for one reminder. Raises `MemoryUnavailable`."""
        async with self.reminders.lease(owner, reminder_id).held() as ours:
            return await self._begin(owner, reminder_id) if ours else "elsewhere"

    async def withdraw(self, owner: str, reminder_id: str, *, but: str = "") -> None:
        """Withdraw the notices of a reminder that still wait, except the notice `but`."""
        for notice in await self.routes.notices.waiting(owner):
            if notice.source == reminder_id and notice.kind == "reminder" and notice.id != but:
                await self.routes.notices.withdraw(owner, notice.id)

    def on_delivered(self, owner: str, notice_id: str, way: Way) -> None:
        """Settle the reminder of a notice that was delivered. Returns immediately."""
        if notice_id.startswith("reminder-") and len(self._settling) < SETTLING_LIMIT:
            self._start(self._settle(owner, notice_id, way))

    async def report(self, owner: str, reminder_id: str, event: Literal["set", "canceled"]) -> None:
        """Count what a user did, and show it on the user's open pages."""
        self.metrics.count(event)
        await self.routes.show(owner, ReminderChanged(reminder_id, event))

    async def close(self) -> None:
        """Stop; an unsettled reminder is found delivered at its next attempt."""
        await cancel_all(self._settling)

    async def _begin(self, owner: str, reminder_id: str) -> Outcome:
        now = self.clock()
        begin = partial(begun, now=now, keep_s=self.settings.keep_days * DAY_S, lease_s=self.settings.lease_s)
        before, reminder = await self.reminders.update(owner, reminder_id, begin)
        if before is None or reminder is None or not reminder.due:
            await self.withdraw(owner, reminder_id)
            if before and before.due:
                self.metrics.count("given_up")
            return "nothing"
        if reminder == before:
            return "nothing"  # it is not time yet
        if reminder.due != before.due:
            self.metrics.count("due")
            self.metrics.late.observe(max(0.0, now - reminder.due))
        if reminder.missed:
            await self.withdraw(owner, reminder_id, but=reminder.notice_id)
        return await self._reach(reminder)

    async def _reach(self, reminder: Reminder) -> Outcome:
        owner, notice_id = reminder.owner, reminder.notice_id
        if await self.routes.notices.is_delivered(owner, notice_id):
            await self._settle(owner, notice_id, "call")
            return "call"
        await self.routes.notices.notify(owner, notice_of(reminder))
        current = await self.reminders.get(owner, reminder.id)
        if current is None or current.notice_id != notice_id:  # called off meanwhile
            await self.routes.notices.withdraw(owner, notice_id)
            return "nothing"
        on_call = await self.routes.notices.is_on_call(owner)
        if on_call and reminder.tries < CALL_TRIES:
            await self._try_again(reminder, on_call=True)
            return "call"
        if await self._shown(reminder):
            return "page"
        if await self._sent(reminder):
            return "webhook"
        await self._try_again(reminder, on_call=on_call)
        return "waiting"

    async def _shown(self, reminder: Reminder) -> bool:
        """Show a reminder on its user's pages. Return whether one of them confirms it."""
        if not await self.routes.has_page(reminder.owner):
            return False
        notice = notice_of(reminder)
        content = NoticeContent(notice.kind, notice.text, notice.source)
        await self.routes.show(reminder.owner, NoticeChanged(notice.id, "waiting", content))
        try:
            async with asyncio.timeout(SHOWN_WITHIN_S):
                while not await self.routes.notices.is_delivered(reminder.owner, notice.id):  # noqa: ASYNC110 - in any process
                    await asyncio.sleep(POLL_EVERY_S)
        except TimeoutError:
            return False
        await self._settle(reminder.owner, notice.id, "page")
        return True

    async def _sent(self, reminder: Reminder) -> bool:
        """Post a reminder to the webhook. Return whether its server accepted it."""
        if self.routes.webhook is None:
            return False
        data = {"user": reminder.owner, **reminder.to_json()}
        try:
            await self.routes.webhook.send("reminder", data, delivery=reminder.notice_id)
        except MemoryUnavailable:
            raise
        except PeerError as error:
            log.info("the webhook did not accept a reminder: %s", error)
            self.metrics.count("refused")
            return False
        await self.routes.notices.withdraw(reminder.owner, reminder.notice_id)
        await self._settle(reminder.owner, reminder.notice_id, "webhook")
        return True

    async def _try_again(self, reminder: Reminder, *, on_call: bool) -> None:
        def again(current: Reminder) -> Reminder:
            same = current.notice_id == reminder.notice_id
            return tried(current, self.clock(), on_call=on_call) if same else current

        await self.reminders.update(reminder.owner, reminder.id, again)

    async def _settle(self, owner: str, notice_id: str, way: Way) -> None:
        reminder_id = notice_id.removeprefix("reminder-").rpartition("-")[0]
        now = self.clock()
        settle = partial(delivered, notice_id=notice_id, now=now)
        before, _ = await self.reminders.update(owner, reminder_id, settle)
        if before and before.due and before.notice_id == notice_id:
            self.metrics.count(way)
            await self.routes.show(owner, ReminderChanged(reminder_id, "delivered", way))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        async def quietly() -> None:
            with contextlib.suppress(MemoryUnavailable):  # it is found delivered at its next attempt
                await work

        start_among(self._settling, "a delivered reminder", quietly())
