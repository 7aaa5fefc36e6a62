"""Figures of tools and text models in `/metrics`."""

import json
import re

import pytest
from prometheus_client import CollectorRegistry

from backend.errors import ModelUnavailable
from backend.models.chat_completions import ChatCompletions, ModelLimits, Reason
from backend.observability.work_metrics import WorkMetrics
from backend.testing.services.server import serving
from backend.tools.base import ToolContext
from tests.support import chat_api as api
from tests.support.agents import echo, fail, toolbox
from tests.support.offline_peer import offline_peer
from tests.support.running_server import placed_call, running_server


@pytest.mark.document("002", "logs and databases")
async def test_tool_calls_are_counted_by_tool_and_outcome() -> None:
    metrics, registry = WorkMetrics(), CollectorRegistry()
    metrics.register_in(registry)
    box = toolbox(echo, fail, services={WorkMetrics: metrics}).only(("echo", "fail"))
    for name, arguments in (("echo", {"text": "x"}), ("echo", {}), ("fail", {}), ("invented", {})):
        await box.run(name, json.dumps(arguments), ToolContext("ada"))
    counted = {
        (sample.labels["tool"], sample.labels["outcome"]): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "voice_tool_seconds_count"
    }
    assert counted == {("echo", "ok"): 1, ("echo", "invalid_arguments"): 1, ("fail", "failed"): 1}


@pytest.mark.document("002", "logs and databases")
async def test_failed_requests_to_a_model_are_counted_by_reason() -> None:
    metrics, registry = WorkMetrics(), CollectorRegistry()
    metrics.register_in(registry)

    def failed(model: str, attempt: int, error: str, reason: Reason, seconds: float) -> None:
        metrics.model_failed(model, reason, seconds)

    replies = iter([api.error(429), api.error(503), api.stream([b"data: {not json\n\n"]), api.error(401)])
    async with serving(lambda request: next(replies)) as server:
        limits = ModelLimits(backoff_s=0.01, silence_s=0.3, attempts=4)
        model = ChatCompletions(base_url=f"{server.url}/v1", api_key="k", limits=limits, on_failure=failed)
        try:
            async for _ in model.stream([{"role": "user", "content": "x"}], model="first"):
                raise AssertionError("there is no answer")
        except ModelUnavailable:
            pass
        await model.close()
    for reason, count in (("rate_limited", 1), ("refused", 2), ("unreadable", 1)):
        labels = {"model": "first", "reason": reason}
        assert registry.get_sample_value("voice_model_failures_total", labels) == count


async def test_a_server_shows_both_figures_after_a_call() -> None:
    asks = {"name": "route_to_thinker", "arguments": {"domain": "weather", "query": "What's the weather in Seattle?"}}
    async with offline_peer({"turns": [{"reply": {"calls": [asks]}, "after_results": ["It rains."]}]}) as peer:
        with running_server(peer) as server:
            async with placed_call(server, transport="ws") as call:
                path, token = f"/api/sessions/{call.ticket.session_id}/messages", call.ticket.token
                headers = {"Authorization": f"Bearer {token}"}
                await call.http.post(path, json={"text": "What's the weather in Seattle?"}, headers=headers)
                await call.event("thinker", event="complete", within_s=20)
                figures = (await call.http.get("/metrics")).text
    assert re.search(r'voice_tool_seconds_count\{outcome="ok",tool="get_current_weather"\} 1\.0', figures)
    assert re.search(r'voice_model_seconds_count\{model="[^"]+"\} [1-9]', figures)
    assert re.search(r'voice_model_tokens_total\{direction="in",model="[^"]+"\} [1-9]', figures)
    assert re.search(r'voice_answer_cache_total\{outcome="miss"\} 1\.0', figures)
    assert re.search(r"^voice_loop_lag_seconds [\d.e-]+$", figures, re.MULTILINE)
