"""Erasure reaches data outside the server: webhooks are notified, and the security log has an entry."""

import pytest

from backend.testing.services.server import json_reply, serving
from tests.support.running_server import a_browser, running_server
from tests.support.waiting import until

SECRET = "a secret of some length"


def webhook(group: str, url: str) -> dict[str, str]:
    """Return the settings of a webhook on loopback."""
    return {
        f"{group}__WEBHOOK_URL": url,
        f"{group}__WEBHOOK_HOSTS": "127.0.0.1",
        f"{group}__WEBHOOK_SECRET": SECRET,
    }


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_erasing_a_user_reaches_webhooks(workers: str) -> None:
    async with serving(lambda _: json_reply({})) as hook:
        hooks = webhook("PIPELINE", f"{hook.url}/turns") | webhook("NOTIFICATIONS", f"{hook.url}/reminders")
        with running_server(None, WORKERS=workers, **hooks) as server:
            async with a_browser(server) as ana:
                await ana.get("/api/me")
                answer = await ana.delete("/api/me", timeout=15)
                assert (answer.status_code, answer.json()) == (200, {"ok": True})
                await until(lambda: {request.path for request in hook.requests} >= {"/turns", "/reminders"})
                deleted = [request.json() for request in hook.requests if request.json()["event"] == "user.deleted"]
                assert len(deleted) == 2 and len({body["user"] for body in deleted}) == 1
            log = server.folder / "security.log"
            await until(lambda: "data_erased" in log.read_text())
            assert deleted[0]["user"] not in log.read_text()


async def test_an_unfinished_erasure_names_the_webhook_and_is_tried_again() -> None:
    async with serving(lambda _: json_reply({}, 503)) as hook:
        with running_server(None, **webhook("PIPELINE", f"{hook.url}/turns")) as server:
            async with a_browser(server) as ana:
                await ana.get("/api/me")
                answer = await ana.delete("/api/me", timeout=15)
                assert (answer.status_code, answer.json()) == (200, {"ok": True, "later": ["PIPELINE__WEBHOOK"]})
