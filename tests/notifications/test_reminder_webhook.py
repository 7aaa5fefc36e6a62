"""A reminder posted to another server: a real one on loopback, which checks the signature as any receiver would."""

from __future__ import annotations

import pytest

from backend.app.notifications import open_notifications
from backend.errors import SettingsError
from backend.notifications.webhooks import WebhookClient
from backend.settings.notifications import NotificationSettings
from backend.storage.pubsub import PubSub
from backend.testing.memory import FakeMemory
from backend.testing.services.server import json_reply, serving
from tests.notifications.test_webhooks import SECRET, genuine
from tests.notifications.world import USER, Process, World


async def test_a_reminder_is_sent_signed_and_again_after_a_5xx_until_it_is_taken() -> None:
    statuses = iter([503, 500, 503, 200])
    async with serving(lambda _: json_reply({}, next(statuses))) as server:
        webhooks = WebhookClient(url=f"{server.url}/hook", secret=SECRET, hosts=["127.0.0.1"], pauses_s=(0.01,))
        async with Process(World(), webhook=webhooks) as one:
            reminder = await one.set()
            assert await one.deliver(reminder) == "waiting", "a page has a moment to confirm it"
            assert await one.deliver(reminder) == "waiting", "two attempts at once, then later"
            assert await one.deliver(reminder) == "webhook"
            assert await one.reminders.all_of(USER) == []
        await webhooks.close()
    assert len(server.requests) == 4 and all(map(genuine, server.requests))
    assert {request.headers["x-responder-delivery"] for request in server.requests} == {"reminder-r1-1795263000"}
    told = server.requests[0].json()
    assert (told["event"], told["user"], told["id"], told["text"]) == ("reminder", USER, "r1", reminder.text)
    assert (told["at"], told["repeat"]) == ("2026-11-21T13:10:00+01:00", "none")


async def test_a_webhook_that_cannot_be_stops_the_start_and_names_its_setting() -> None:
    chosen = NotificationSettings.model_validate({"webhook_url": "http://elsewhere.example", "webhook_secret": SECRET})
    async with Process(World()) as one:
        with pytest.raises(SettingsError, match="NOTIFICATIONS__WEBHOOK_HOSTS"):
            async with open_notifications(chosen, one.redis, PubSub(one.redis, one.redis), FakeMemory()):
                raise AssertionError("it must not start")
