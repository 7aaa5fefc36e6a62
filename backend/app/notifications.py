"""The one call `main` makes to have reminders delivered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from prometheus_client import CollectorRegistry

from backend.notifications.delivery import Tellings
from backend.notifications.presence import Presence
from backend.notifications.service import Reminding
from backend.notifications.webhooks import Webhooks, hosts_of
from backend.settings.notifications import NotificationSettings
from backend.storage.pubsub import PubSub


@asynccontextmanager
async def open_notifications(
    settings: NotificationSettings,
    reminding: Reminding,
    tellings: Tellings,
    *,
    pubsub: PubSub,
    presence: Presence,
    registry: CollectorRegistry,
) -> AsyncIterator[None]:
    """Reminders are delivered until the block is left. Raises `SettingsError` for a webhook that cannot be."""
    async with AsyncExitStack() as stack:
        hook = _hook(settings)
        if hook is not None:
            stack.push_async_callback(hook.close)
        await stack.enter_async_context(
            reminding.delivering(
                tellings, show=pubsub.publish_page_event, on_page=presence.anywhere, hook=hook, registry=registry
            )
        )
        yield


def _hook(settings: NotificationSettings) -> Webhooks | None:
    if not settings.webhook_url:
        return None
    return Webhooks(
        url=settings.webhook_url,
        secret=settings.webhook_secret.get_secret_value(),
        hosts=hosts_of(settings.webhook_hosts),
        setting="NOTIFICATIONS__WEBHOOK",
    )
