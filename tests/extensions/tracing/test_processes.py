"""Traces and JSON log lines of two real processes: of a call, and of the task that a worker does for it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.tracing.collector import collector
from tests.support.offline_peer import offline_peer
from tests.support.redis_server import running_redis
from tests.support.running_server import a_browser, placed_call, running_server
from tests.support.waiting import until
from tests.support.workers import running_worker

pytestmark = pytest.mark.realtime

ASKED = "Research electric cars in the background"
ROUTED = {"name": "route_to_thinker", "arguments": {"domain": "research", "query": ASKED, "background": True}}
SCRIPT = {"turns": [{"reply": {"calls": [ROUTED]}, "after_results": ["I am at work on it."]}]}


def lines_in(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


async def test_a_workers_part_of_a_call_is_joined_to_it_in_traces_and_logs(tmp_path: Path) -> None:
    worked = tmp_path / "worker.log"
    async with collector() as traces, offline_peer(SCRIPT) as peer:
        with ExitStack() as stack:
            redis = stack.enter_context(running_redis())
            shared = {"REDIS_URL": redis.url, "OTEL_EXPORTER_OTLP_ENDPOINT": traces.url}
            shared |= {"LOG_FORMAT": "json", "LOG_LEVEL": "info"}
            stack.enter_context(running_worker(peer, log=worked, **shared))
            server = stack.enter_context(running_server(peer, BACKGROUND__WORKER="off", **shared))
            async with placed_call(server, transport="ws") as call:
                path, token = f"/api/sessions/{call.ticket.session_id}/messages", call.ticket.token
                headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "from-the-proxy"}
                answer = await call.http.post(path, json={"text": ASKED}, headers=headers)
                assert answer.headers["x-request-id"] == "from-the-proxy"
                await call.event("thinker", event="complete", within_s=20)
                await until(lambda: traces.has("task research") and "thinker_end" in worked.read_text(), 30)
            await until(lambda: traces.has("session"))
            ours, theirs = lines_in(server.folder / "stderr.log"), lines_in(worked)
    session, task = traces.span("session"), traces.span("task research")
    assert task.trace != session.trace and not task.parent
    assert task.resource["service.instance.id"] != session.resource["service.instance.id"]
    [thinker] = traces.children(task)
    inside = [span.name.split()[0] for span in traces.children(traces.span("research_thinker.think"))]
    assert thinker.name == "invoke_agent research" and {"chat", "execute_tool"} <= set(inside)
    of_the_call = traces.children(traces.span("turn 1"))
    assert "invoke_agent research" in {span.name for span in of_the_call}
    assert task.attributes["enduser.pseudo.id"] == session.attributes["enduser.pseudo.id"]
    assert task.attributes["voice.outcome"] == "complete"
    [handed] = [line for line in ours if line["message"].startswith("handed to the background: task ")]
    assert (handed["session"], handed["process"]) == (call.ticket.session_id, "server") and handed["turn"] >= 1
    of_the_task = [line for line in theirs if line.get("task") == handed["message"].rpartition(" ")[2]]
    assert {"thinker_start", "thinker_end"} <= {line["message"].split(":")[0] for line in of_the_task}
    assert {line["process"] for line in theirs} == {"worker"}
    assert {line["conversation"] for line in of_the_task} == {handed["conversation"]}
    assert "lectric" not in traces.text + json.dumps([*ours, *theirs])


async def test_reasoning_is_a_trace_with_its_models() -> None:
    async with collector() as traces, offline_peer() as peer:
        with running_server(peer, OTEL_EXPORTER_OTLP_ENDPOINT=traces.url) as server:
            async with a_browser(server) as browser:
                await browser.get("/api/me")
                answer = await browser.post("/api/reasoning", json={"task": "What is two and two?"}, timeout=30)
                assert answer.status_code == 200, answer.text
            await until(lambda: traces.has("reasoning"))
    reasoning = traces.span("reasoning")
    assert not reasoning.parent and reasoning.attributes["voice.strategy"] == "mono"
    assert "chat" in {span.name.split()[0] for span in traces.children(reasoning)}
    assert "enduser.pseudo.id" in reasoning.attributes and "two and two" not in traces.text
