"""`user.deleted`: sent beside the answer, to every webhook, and one that fails costs nobody else anything."""

from __future__ import annotations

import logging

import pytest

from backend.notifications import deletions
from backend.notifications.deletions import DeletionNotifier
from backend.notifications.webhooks import WebhookClient
from demo.services.server import ApiServer, json_reply, serving

SECRET = "a secret of some length"


def webhook(server: ApiServer) -> WebhookClient:
    return WebhookClient(url=f"{server.url}/hook", secret=SECRET, hosts=["127.0.0.1"], pauses_s=(0.01,))


async def test_every_webhook_is_told_even_if_another_refuses(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(lambda _: json_reply({}, 410)) as refusing, serving(lambda _: json_reply({})) as taking:
        notifier = DeletionNotifier([webhook(refusing), webhook(taking)])
        with caplog.at_level(logging.ERROR):
            notifier.notify("u-1")
            await notifier.close()
    (request,) = taking.requests
    assert (request.json()["event"], request.json()["user"]) == ("user.deleted", "u-1")
    assert "did not accept a user.deleted" in caplog.text
    assert "u-1" not in caplog.text


async def test_the_number_under_way_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletions, "AT_ONCE", 3)
    async with serving(lambda _: json_reply({}, delay_s=0.05)) as server:
        notifier = DeletionNotifier([webhook(server)])
        for number in range(10):
            notifier.notify(f"u-{number}")
        await notifier.close()
    assert len(server.requests) == 3
