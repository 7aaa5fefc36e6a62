"""The traces of two real processes at a collector: a call's, and that of the task a worker does for it."""

from __future__ import annotations

from contextlib import ExitStack

from tests.support.offline_peer import offline_peer
from tests.support.otlp import collector
from tests.support.redis_server import running_redis
from tests.support.running_server import a_browser, placed_call, running_server
from tests.support.waiting import until
from tests.support.workers import running_worker

ASKED = "Research electric cars in the background"


async def test_a_background_task_is_a_trace_of_the_worker_in_the_conversation_it_belongs_to() -> None:
    async with collector() as traces, offline_peer() as peer:
        with ExitStack() as stack:
            redis = stack.enter_context(running_redis())
            shared = {"REDIS_URL": redis.url, "OTEL_EXPORTER_OTLP_ENDPOINT": traces.url}
            stack.enter_context(running_worker(peer, log=None, **shared))
            server = stack.enter_context(running_server(peer, BACKGROUND__WORKER="off", **shared))
            async with placed_call(server, transport="ws") as call:
                path, token = f"/api/sessions/{call.ticket.session_id}/messages", call.ticket.token
                await call.http.post(path, json={"text": ASKED}, headers={"Authorization": f"Bearer {token}"})
                await call.told("thinker", event="complete", within_s=20)
                await until(lambda: traces.has("task research"), 30)
            await until(lambda: traces.has("session"), 10)
    session, task = traces.span("session"), traces.span("task research")
    assert task.trace != session.trace and not task.parent
    assert task.resource["service.instance.id"] != session.resource["service.instance.id"]
    [thinker] = traces.children(task)
    inside = [span.name.split()[0] for span in traces.children(thinker)]
    assert thinker.name == "invoke_agent research" and {"chat", "execute_tool"} <= set(inside)
    of_the_call = traces.children(traces.span("turn 1"))
    assert "invoke_agent research" in {span.name for span in of_the_call}
    assert task.attributes["enduser.pseudo.id"] == session.attributes["enduser.pseudo.id"]
    assert task.attributes["voice.outcome"] == "complete" and "electric" not in traces.text


async def test_reasoning_is_a_trace_with_its_models() -> None:
    async with collector() as traces, offline_peer() as peer:
        with running_server(peer, OTEL_EXPORTER_OTLP_ENDPOINT=traces.url) as server:
            async with a_browser(server) as browser:
                await browser.get("/api/me")
                answer = await browser.post("/api/reasoning", json={"task": "What is two and two?"}, timeout=30)
                assert answer.status_code == 200, answer.text
            await until(lambda: traces.has("reasoning"), 10)
    reasoning = traces.span("reasoning")
    assert not reasoning.parent and reasoning.attributes["voice.strategy"] == "mono"
    assert "chat" in {span.name.split()[0] for span in traces.children(reasoning)}
    assert "enduser.pseudo.id" in reasoning.attributes and "two and two" not in traces.text
