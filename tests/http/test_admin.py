"""The operator's view is for the bearer of one token, and shows no words of callers."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.errors import SettingsError
from backend.page_events import ErrorShown, TranscriptCompleted, TurnMeasured
from tests.http.world import message_of, place_call, settings_with, world

TOKEN = "correct horse battery"
BEARER = {"authorization": f"Bearer {TOKEN}"}


def admin_world(folder: Path, **settings: Any) -> Any:
    return world(folder, **{"admin_token": TOKEN} | settings)


async def overview(browser: httpx2.AsyncClient, headers: dict[str, str] = BEARER) -> Any:
    answer = await browser.get("/api/admin/overview", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_without_a_token_in_the_settings_the_admin_routes_answer_404(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser(headers=BEARER) as browser:
        for method, path in (("GET", "/api/admin/overview"), ("DELETE", "/api/admin/sessions/x")):
            answer = await browser.request(method, path)
            assert answer.status_code == 404
            assert "ADMIN_TOKEN" in answer.json()["error"]["hint"]


def test_a_short_admin_token_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match="ADMIN_TOKEN"):
        settings_with(admin_token="hunter2")


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer grün"])
async def test_only_the_bearer_of_the_token_is_admitted(tmp_path: Path, shown: str) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser:
        headers = {"authorization": shown.encode()} if shown else {}
        answer = await browser.get("/api/admin/overview", headers=headers)
        assert answer.status_code == 401 and message_of(answer)
        assert answer.headers["www-authenticate"] == "Bearer"
        in_query = await browser.get("/api/admin/overview", params={"token": TOKEN})
        assert in_query.status_code == 401


async def test_too_many_wrong_tokens_delay_even_the_right_one(tmp_path: Path) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser:
        for _ in range(10):
            assert (await browser.get("/api/admin/overview", headers={"authorization": "Bearer no"})).status_code == 401
        refused = await browser.get("/api/admin/overview", headers=BEARER)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) <= 6
        here.now[0] += 6
        await overview(browser)


async def test_requests_with_the_right_token_or_without_one_are_no_attempts(tmp_path: Path) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser:
        for _ in range(15):
            await overview(browser)
            assert (await browser.get("/api/admin/overview")).status_code == 401


async def test_sessions_are_shown_without_their_words_or_owners(tmp_path: Path) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser, here.browser() as other:
        one = here.registry.find((await place_call(browser))["session_id"])
        two = here.registry.find((await place_call(other))["session_id"])
        await here.registry.end(one, "disconnected")
        two.note(ErrorShown("a fault", "a hint"))
        two.note(TranscriptCompleted("user", "u1", "a secret"))
        answer = await browser.get("/api/admin/overview", headers=BEARER)
        shown = answer.json()["sessions"]
    assert [each["session_id"] for each in shown] == [two.id, one.id]
    assert [each["state"] for each in shown] == ["live", "ended"]
    assert shown[0]["counts"]["errors"] == 1 and shown[1]["ended_reason"] == "disconnected"
    assert shown[0]["user"] != shown[1]["user"] and len(shown[0]["user"]) == 8
    assert "a secret" not in answer.text and one.owner not in answer.text and two.owner not in answer.text


async def test_latencies_thinkers_and_faults_are_counted(tmp_path: Path) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser:
        for total in (400, 500, 2_000):
            here.metrics.turn_measured(TurnMeasured(1, 300, 1, 2, 3, 0, 4, total, 1))
        here.metrics.thinker_finished("weather", "complete", 0.5)
        here.metrics.thinker_finished("weather", "failed", 1.5)
        here.metrics.session_ended("idle")
        here.metrics.watch_queue("outbox", lambda: 3)
        figures = await overview(browser)
    turns = figures["turns"]
    assert turns["count"] == 3 and turns["legs"]["hangover"] == {"p50_ms": 300, "p95_ms": 300}
    assert turns["legs"]["first_sound"] == {"p50_ms": 500, "p95_ms": 2_000}
    assert figures["thinkers"] == [
        {"domain": "weather", "outcomes": {"complete": 1, "failed": 1}, "p50_ms": 1_000, "p95_ms": 1_500}
    ]
    assert figures["ended"] == {"idle": 1} and figures["queues"] == {"outbox": 3}
    assert figures["faults"]["server_errors"] == 0
    assert figures["checks"] == {"memory": "ok", "responder": "ok"}
    assert figures["process"]["memory_bytes"] > 1e6


async def test_an_operator_can_end_any_call(tmp_path: Path) -> None:
    async with admin_world(tmp_path) as here, here.browser() as browser, here.browser() as caller:
        session = here.registry.find((await place_call(caller))["session_id"])
        path = f"/api/admin/sessions/{session.id}"
        assert (await browser.delete(path)).status_code == 401
        assert here.registry.live == 1
        assert (await browser.delete(path, headers=BEARER)).json() == {"ok": True}
        assert (session.ended_reason, here.registry.live) == ("operator", 0)
        assert (await browser.delete("/api/admin/sessions/nobody", headers=BEARER)).status_code == 404


async def test_the_samples_for_medians_are_bounded() -> None:
    from backend.observability.call_metrics import KEPT, RecentMetrics

    recent = RecentMetrics()
    for n in range(3 * KEPT):
        recent.leg("first_sound", n)
        recent.thinker("weather", "complete", n)
    assert recent.turns().count == KEPT
    assert recent.turns().legs["first_sound"].p50_ms == 2 * KEPT + KEPT // 2
    assert recent.thinkers()[0].outcomes == {"complete": 3 * KEPT}
