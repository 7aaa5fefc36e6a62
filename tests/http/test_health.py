"""Probes of health and readiness, and metrics."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from backend.http import health
from backend.observability.call_metrics import CallMetrics
from backend.page_events import MurmurHeard, ReplyDiscarded, TurnMeasured
from backend.runtime.faults import call_observer, decode_or_skip
from backend.runtime.supervisor import supervised
from tests.http.world import Browser, place_call, world
from tests.support.waiting import until

Figures = dict[tuple[str, frozenset[tuple[str, str]]], float]


def figures_of(text: str) -> Figures:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def figure(figures: Figures, name: str, **labels: str) -> float | None:
    return figures.get((name, frozenset(labels.items())))


async def test_a_process_that_answers_is_healthy(browser: Browser) -> None:
    response = await browser.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    glance = await browser.head("/healthz")
    assert (glance.status_code, glance.content) == (200, b"")


async def test_a_server_without_a_failed_check_is_ready(browser: Browser) -> None:
    response = await browser.get("/readyz")
    assert response.status_code == 200
    answer = response.json()
    assert (answer["status"], answer["checks"]) == ("ready", {"memory": "ok", "responder": "ok"})


async def test_a_server_that_still_loads_a_part_names_it_and_is_ready(tmp_path: Path) -> None:
    loading = ["speech recognition"]
    async with world(tmp_path, services_with={"loading": lambda: loading}) as here, here.browser() as browser:
        response = await browser.get("/readyz")
        assert (response.status_code, response.json()["loading"]) == (200, ["speech recognition"])
        assert (await browser.get("/api/config")).json()["loading"] == ["speech recognition"]
        loading.clear()
        assert "loading" not in (await browser.get("/readyz")).json()


async def test_a_loop_that_keeps_failing_is_shown_and_counted_but_the_server_stays_ready(
    browser: Browser,
) -> None:
    runs = 0

    async def loop() -> None:
        nonlocal runs
        runs += 1
        raise ValueError("one bad record")

    looping = supervised("test.keeps_failing", loop)
    await until(lambda: runs >= 2)
    decode_or_skip("test.record", b"no number", int)
    call_observer("test.observer", lambda: int("no number"))
    response = await browser.get("/readyz")
    assert (response.status_code, response.json()["failing_loops"]["test.keeps_failing"]) == (200, "ValueError")
    figures = figures_of((await browser.get("/metrics")).text)
    assert (figure(figures, "voice_loop_restarts_total", loop="test.keeps_failing") or 0) >= 2
    assert figure(figures, "voice_skipped_records_total", kind="test.record") == 1
    assert figure(figures, "voice_observer_failures_total", observer="test.observer") == 1
    looping.cancel()


async def test_readiness_answers_503_with_the_failed_check(tmp_path: Path) -> None:
    async def memory_is_gone() -> dict[str, str]:
        return {"memory": "Redis does not answer", "responder": "ok"}

    async with world(tmp_path, readiness=memory_is_gone) as here, here.browser() as browser:
        response = await browser.get("/readyz")
        assert response.status_code == 503
        assert response.json()["status"] == "not ready"
        assert response.json()["checks"]["memory"] == "Redis does not answer"


async def test_readiness_answers_503_in_time_if_a_check_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "READY_WITHIN_S", 0.05)

    async def hang() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async with world(tmp_path, readiness=hang) as here, here.browser() as browser:
        response = await browser.get("/readyz")
        assert response.status_code == 503
        assert "no answer" in response.json()["checks"]["readiness"]


async def test_metrics_count_sessions_offers_and_requests_by_route_template(browser: Browser) -> None:
    call = await place_call(browser)
    await browser.post("/api/rtc/offer", content=b"nonsense")
    await browser.get(f"/api/sessions/{call['session_id']}")
    await browser.get("/api/sessions/guessed")
    await browser.get("/app.js")
    await browser.get("/made/up/by/a/scanner")
    await browser.request("BREW", "/made-up")
    text = (await browser.get("/metrics")).text
    figures = figures_of(text)
    assert figure(figures, "voice_sessions_live") == 1
    for status in ("200", "422"):
        offers = {"method": "POST", "route": "/api/rtc/offer", "status": status}
        assert figure(figures, "voice_http_seconds_count", **offers) == 1
    template = {"method": "GET", "route": "/api/sessions/{session_id}"}
    assert figure(figures, "voice_http_seconds_count", **template, status="200") == 1
    assert figure(figures, "voice_http_seconds_count", **template, status="404") == 1
    assert "scanner" not in text and "made-up" not in text and "BREW" not in text
    assert call["session_id"] not in text
    await browser.post("/api/rtc/disconnect", json={"session_id": call["session_id"]})
    assert figure(figures_of((await browser.get("/metrics")).text), "voice_sessions_live") == 0


def test_unknown_thinkers_are_counted_as_other() -> None:
    metrics = CallMetrics(domains=["weather"])
    for invented in ("weather", "one", "two", "three"):
        metrics.thinker_finished(invented, "failed", 0.1)
    value = metrics.registry.get_sample_value
    assert value("voice_thinker_seconds_count", {"domain": "weather", "outcome": "failed"}) == 1
    assert value("voice_thinker_seconds_count", {"domain": "other", "outcome": "failed"}) == 3


def test_the_legs_of_a_turn_are_observed_in_seconds() -> None:
    metrics = CallMetrics()
    metrics.turn_measured(TurnMeasured(1, 300, 0, 400, 450, 0, 50, 1200, 100))
    value = metrics.registry.get_sample_value
    assert value("voice_turn_leg_seconds_sum", {"leg": "hangover"}) == pytest.approx(0.3)
    assert value("voice_turn_leg_seconds_sum", {"leg": "first_sound"}) == pytest.approx(1.2)
    assert value("voice_turn_leg_seconds_count", {"leg": "first_token"}) is None


def test_a_scrape_reads_queues_and_counts_losses() -> None:
    metrics = CallMetrics()
    waiting = [1, 2, 3]
    metrics.watch_queue("outbox", lambda: len(waiting))
    lost = 0
    metrics.watch_total("voice_outbox_dropped", "Memory writes given up.", lambda: lost)
    waiting.clear()
    lost = 2
    value = metrics.registry.get_sample_value
    assert value("voice_queue_depth", {"queue": "outbox"}) == 0
    assert value("voice_outbox_dropped_total") == 2


def test_waits_murmurs_and_discarded_replies_are_counted() -> None:
    metrics = CallMetrics()
    for reason in ("trailing off", "trailing off", "hesitation", ""):
        metrics.on_event(TurnMeasured(1, 300, 0, 400, 450, 900, 50, 2100, 100, 1800, reason))
    for kind in ("agreement", "noise"):
        metrics.on_event(MurmurHeard(kind, "mm-hmm"))
    metrics.on_event(ReplyDiscarded(1, 1300, 20))
    metrics.on_event(ReplyDiscarded(1, 0, 0))
    value = metrics.registry.get_sample_value
    waits = {reason: value("voice_turn_waits_total", {"reason": reason}) for reason in ("trailing off", "typed")}
    assert waits == {"trailing off": 2, "typed": 1}
    assert value("voice_turn_waits_total", {"reason": "hesitation"}) == 1
    assert value("voice_turn_leg_seconds_sum", {"leg": "end_of_turn"}) == pytest.approx(3.6)
    assert [value("voice_murmurs_total", {"kind": kind}) for kind in ("agreement", "noise")] == [1, 1]
    assert value("voice_replies_discarded_total") == 2
    tokens = [value("voice_replies_discarded_tokens_total", {"direction": way}) for way in ("input", "output")]
    assert tokens == [1300, 20]
