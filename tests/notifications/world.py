"""The world of reminders in tests: a clock, and a Redis, notices and a webhook that outlive processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from zoneinfo import ZoneInfo

from fakeredis import FakeServer

from backend.notifications.delivery import Outcome, ReminderDelivery, ReminderMetrics
from backend.notifications.notices import Notice
from backend.notifications.reminders import Reminder
from backend.notifications.repository import ReminderRepository
from backend.notifications.schedule import planned
from backend.notifications.webhooks import WebhookFailed
from backend.page_events import NoticeChanged, PageEvent
from tests.support.crashing import Countdown, CrashingRedis

USER = "ada"
OSLO = ZoneInfo("Europe/Oslo")
NOW = 1_795_262_400.0


@dataclass
class World:
    """What outlives a process. The test moves `now`."""

    server: FakeServer = field(default_factory=FakeServer)
    now: float = NOW
    waiting: dict[str, Notice] = field(default_factory=dict)
    delivered: list[str] = field(default_factory=list)
    """Notices that were delivered or withdrawn, in that order."""
    on_call: bool = False
    page: bool = False
    """Whether a page is open, which confirms what it is shown."""
    webhook: bool = True
    webhook_fails: int = 0
    posts: Counter[str] = field(default_factory=Counter)
    """How often each delivery was taken by the webhook."""
    shown: list[PageEvent] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def speak(self, *notice_ids: str) -> None:
        """Count these notices as spoken in a call."""
        for notice_id in notice_ids or tuple(self.waiting):
            del self.waiting[notice_id]
            self.delivered.append(notice_id)


@dataclass
class FakeNotices:
    """A `NotificationDispatcher` with notices that outlive the process, each once by its id."""

    world: World
    fate: Countdown

    async def notify(self, user_id: str, notice: Notice) -> None:
        self.fate()
        if notice.id not in self.world.delivered:
            self.world.waiting.setdefault(notice.id, notice)
        self.fate()

    async def waiting(self, user_id: str) -> list[Notice]:
        self.fate()
        return list(self.world.waiting.values())

    async def is_delivered(self, user_id: str, notice_id: str) -> bool:
        self.fate()
        return notice_id in self.world.delivered

    async def withdraw(self, user_id: str, notice_id: str) -> bool:
        self.fate()
        self.world.delivered.append(notice_id)
        was_there = self.world.waiting.pop(notice_id, None) is not None
        self.fate()
        return was_there

    async def is_on_call(self, user_id: str) -> bool:
        self.fate()
        return self.world.on_call


@dataclass
class FakeWebhook:
    """A webhook's server that may refuse at first."""

    world: World
    fate: Countdown

    async def send(self, event: str, data: Mapping[str, Any], *, delivery: str = "") -> None:
        self.fate()
        if self.world.webhook_fails:
            self.world.webhook_fails -= 1
            raise WebhookFailed("The webhook's server is not ready (503).")
        assert event == "reminder" and data["user"] == USER and data["text"] == f"take the bread out, {data['id']}"
        assert data["at"].endswith("+01:00") and data["state"] == "due"
        self.world.posts[delivery] += 1
        self.fate()


class Process:
    """One process that delivers reminders, and may die at any await."""

    def __init__(self, world: World, dies_after: int | None = None) -> None:
        self.world = world
        self.fate = Countdown(dies_after)
        self.redis = CrashingRedis(world.server, self.fate)
        self.reminders = ReminderRepository(self.redis, per_user=5)
        self.notices = FakeNotices(world, self.fate)
        used: Any = FakeWebhook(world, self.fate) if world.webhook else None
        self.delivery = ReminderDelivery(
            self.reminders, cast(Any, self.notices), self._show, used, ReminderMetrics(), world.clock
        )

    async def __aenter__(self) -> Process:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.delivery.close()
        await self.redis.bury()

    async def set(self, at: str = "in ten minutes", repeat: str = "", id_: str = "r1") -> Reminder:
        """A reminder of the bread, in Oslo."""
        first, series = planned(at, repeat, self.world.now, OSLO)
        reminder = Reminder(id_, USER, f"take the bread out, {id_}", self.world.now, first, "Europe/Oslo", series)
        return await self.reminders.add(reminder)

    async def deliver(self, reminder: Reminder) -> Outcome:
        """Move the clock to the moment the reminder wakes, then deliver it."""
        current = await self.reminders.get(USER, reminder.id)
        if current is not None:
            self.world.now = max(self.world.now, current.wakes_at)
        return await self.delivery.deliver(USER, reminder.id)

    async def _show(self, user_id: str, event: PageEvent) -> None:
        self.fate()
        self.world.shown.append(event)
        if isinstance(event, NoticeChanged) and self.world.page:
            await self.notices.withdraw(user_id, event.notice_id)
