"""This module opens the notices and reminders of a process, for tools, calls, tasks and routes."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from redis.asyncio import Redis

from backend.notifications.delivery import ReminderDelivery, ReminderMetrics
from backend.notifications.dispatcher import NotificationDispatcher
from backend.notifications.notes import Notes
from backend.notifications.notices import NoticeRepository
from backend.notifications.repository import ReminderRepository
from backend.notifications.service import ReminderService
from backend.notifications.webhooks import WebhookClient
from backend.sessions.event_log import shown_by
from backend.settings.agent import PipelineSettings
from backend.settings.notifications import NotificationSettings
from backend.storage.memory import Memory
from backend.storage.pubsub import PubSub


@dataclass(frozen=True, slots=True)
class Notifications:
    """The parts that deliver notices and reminders to users."""

    dispatcher: NotificationDispatcher
    notices: NoticeRepository
    reminders: ReminderService
    notes: Notes
    metrics: ReminderMetrics


@asynccontextmanager
async def open_notifications(
    settings: NotificationSettings,
    redis: Redis,
    pubsub: PubSub,
    memory: Memory,
    *,
    delivers: bool = True,
    retention_s: int | None = None,
    clock: Callable[[], float] = time.time,
) -> AsyncIterator[Notifications]:
    """Open notices and reminders. Reminders are delivered from their `start` until the block ends.

    A process that only sets reminders needs no webhook: `delivers` is false there. Enter the block before pub/sub
    starts. The caller keeps ownership of all arguments. Raises `SettingsError` for a webhook with wrong settings.
    """
    metrics, notices = ReminderMetrics(), NoticeRepository(redis)
    reminders = ReminderRepository(redis, per_user=settings.per_user)
    async with AsyncExitStack() as stack:
        webhook = webhook_of(settings, "NOTIFICATIONS__WEBHOOK") if delivers else None
        if webhook is not None:
            stack.push_async_callback(webhook.close)
        dispatcher = NotificationDispatcher(
            notices, pubsub, lambda user_id, notice_id, way: delivery.on_delivered(user_id, notice_id, way)
        )
        stack.push_async_callback(dispatcher.close)
        show = shown_by(pubsub.publish_page_event)
        delivery = ReminderDelivery(reminders, dispatcher, show, webhook, metrics, clock)
        stack.push_async_callback(delivery.close)
        service = ReminderService(reminders, delivery, memory, clock)
        notes = Notes(service, retention_s)
        yield Notifications(dispatcher, notices, service, notes, metrics)


def webhook_of(settings: NotificationSettings | PipelineSettings, name: str) -> WebhookClient | None:
    """Return the webhook of these settings, with names that begin with `name`; None unless an address is set."""
    if not settings.webhook_url:
        return None
    secret, hosts = settings.webhook_secret.get_secret_value(), settings.webhook_hosts.split(",")
    return WebhookClient(url=settings.webhook_url, secret=secret, hosts=hosts, setting=name)
