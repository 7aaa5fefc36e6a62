"""Erasure reaches what left the server: webhooks hear of it, LangSmith deletes traces, and the security log has it."""

from __future__ import annotations

import json

import pytest

from backend.testing.services.server import json_reply, serving
from tests.support.langsmith_api import KEY, langsmith, told
from tests.support.running_server import a_browser, running_server
from tests.support.waiting import until

SECRET = "a secret of some length"


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_erasing_a_user_reaches_webhooks_and_traces(workers: str) -> None:
    async with langsmith() as traces, serving(lambda _: json_reply({})) as hook:
        settings = {
            "WORKERS": workers,
            "PIPELINE__WEBHOOK_URL": f"{hook.url}/turns",
            "PIPELINE__WEBHOOK_HOSTS": "127.0.0.1",
            "PIPELINE__WEBHOOK_SECRET": SECRET,
            "NOTIFICATIONS__WEBHOOK_URL": f"{hook.url}/reminders",
            "NOTIFICATIONS__WEBHOOK_HOSTS": "127.0.0.1",
            "NOTIFICATIONS__WEBHOOK_SECRET": SECRET,
            "LANGSMITH_TRACING_ENABLED": "true",
            "LANGSMITH_API_KEY": KEY,
            "LANGSMITH_ENDPOINT": traces.url,
        }
        with running_server(None, **settings) as server:
            async with a_browser(server) as ana, a_browser(server) as ben:
                for browser in (ana, ben):
                    await browser.get("/api/me")
                    await browser.post("/api/multiturn", json={"message": "Hello."}, timeout=30)
                await until(lambda: len({told(span)["user_hash"] for span in traces.spans}) == 2)
                hash_of_ana = (await ana.get("/api/me/export")).json()["traces"]["user_hash"]
                answer = await ana.delete("/api/me", timeout=15)
                assert (answer.status_code, answer.json()) == (200, {"ok": True})
                await until(lambda: {request.path for request in hook.requests} >= {"/turns", "/reminders"})
                deleted = [request.json() for request in hook.requests if request.json()["event"] == "user.deleted"]
                assert len(deleted) == 2 and len({body["user"] for body in deleted}) == 1
                left = {told(span)["user_hash"] for span in traces.spans}
                assert len(left) == 1 and hash_of_ana not in left
            log = server.folder / "security.log"
            await until(lambda: "data_erased" in log.read_text())
            (line,) = [each for each in map(json.loads, log.read_text().splitlines()) if each["event"] == "data_erased"]
            assert line["user"] == hash_of_ana
            assert deleted[0]["user"] not in log.read_text()


async def test_who_has_not_erased_yet_is_named_and_asked_again() -> None:
    async with langsmith(mood=503) as traces, serving(lambda _: json_reply({}, 503)) as hook:
        settings = {
            "PIPELINE__WEBHOOK_URL": f"{hook.url}/turns",
            "PIPELINE__WEBHOOK_HOSTS": "127.0.0.1",
            "PIPELINE__WEBHOOK_SECRET": SECRET,
            "LANGSMITH_TRACING_ENABLED": "true",
            "LANGSMITH_API_KEY": KEY,
            "LANGSMITH_ENDPOINT": traces.url,
        }
        with running_server(None, **settings) as server:
            async with a_browser(server) as ana:
                await ana.get("/api/me")
                answer = await ana.delete("/api/me", timeout=15)
                later = ["PIPELINE__WEBHOOK", "traces"]
                assert (answer.status_code, answer.json()) == (200, {"ok": True, "later": later})
