"""`/api/reasoning`: outcomes, streams, failures, limits, and readers who leave."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.errors import ModelUnavailable
from backend.testing.model import ScriptedModel
from tests.http.world import world
from tests.reasoning.world import reasoner
from tests.support.waiting import until

URL = "/api/reasoning"


def events_in(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the events of a stream."""
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\n\n")]
    return [(block["event"], json.loads(block["data"])) for block in blocks]


async def test_a_reasoning_task_returns_its_outcome(tmp_path: Path) -> None:
    model = ScriptedModel(["It is four."])
    async with world(tmp_path, services_with={"reasoner": reasoner(model)}) as here, here.browser() as browser:
        answer = await browser.post(URL, json={"task": "What is two and two?"})
    outcome = answer.json()
    assert outcome.pop("elapsed_ms") >= 0
    assert outcome == {
        "text": "It is four.",
        "state": "complete",
        "strategy": "mono",
        "rounds": 1,
        "tool_calls": 0,
        "tokens": 15,
        "citations": [],
        "sample": False,
        "untrusted": False,
        "live": False,
    }


async def test_a_stream_has_the_stages_and_then_the_outcome(tmp_path: Path) -> None:
    model = ScriptedModel(["SECRET plan"], ["<deliverable>Done.</deliverable>"])
    async with world(tmp_path, services_with={"reasoner": reasoner(model)}) as here, here.browser() as browser:
        answer = await browser.post(URL, json={"task": "x", "strategy": "dual", "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *stages, (kind, outcome) = events_in(answer.text)
    assert stages == [
        ("stage", {"detail": "planning", "round": 1}),
        ("stage", {"detail": "carrying out", "round": 1}),
    ]
    assert (kind, outcome["text"], outcome["state"]) == ("result", "Done.", "complete")
    assert "SECRET" not in answer.text


async def test_a_failure_of_the_model_is_reported_whole_and_streamed(tmp_path: Path) -> None:
    gone = [ModelUnavailable("The model cannot be reached.")]
    model = ScriptedModel(gone, gone)
    async with world(tmp_path, services_with={"reasoner": reasoner(model)}) as here, here.browser() as browser:
        whole = await browser.post(URL, json={"task": "x"})
        streamed = await browser.post(URL, json={"task": "x", "stream": True})
    assert whole.status_code == 503
    assert events_in(streamed.text)[-1] == ("error", {"message": "The model cannot be reached.", "hint": ""})


async def test_closing_the_stream_cancels_the_reasoning(tmp_path: Path) -> None:
    model = ScriptedModel([30.0])
    async with world(tmp_path, services_with={"reasoner": reasoner(model)}) as here, here.browser() as browser:
        asking = asyncio.create_task(browser.post(URL, json={"task": "x", "stream": True}))
        await until(lambda: model.open == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: model.open == 0)


@pytest.mark.parametrize("body", [{}, {"task": "  "}, {"task": "x", "strategy": "trio"}, {"task": "x" * 8001}])
async def test_an_invalid_task_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    model = ScriptedModel()
    async with world(tmp_path, services_with={"reasoner": reasoner(model)}) as here, here.browser() as browser:
        assert (await browser.post(URL, json=body)).status_code == 422
    assert model.requests == []


@pytest.mark.document("004", "mono")
async def test_a_former_strategy_is_answered_with_the_names_of_the_two(tmp_path: Path) -> None:
    services = {"reasoner": reasoner(ScriptedModel())}
    async with world(tmp_path, services_with=services) as here, here.browser() as browser:
        refused = await browser.post(URL, json={"task": "x", "strategy": "metacognitive"})
    assert "'mono'" in refused.text and "'dual'" in refused.text


async def test_reasoning_requests_are_limited_per_minute(tmp_path: Path) -> None:
    model = ScriptedModel(improvise=lambda *_: ["Four."])
    settings = {"reasoning": {"per_minute": 2}, "services_with": {"reasoner": reasoner(model)}}
    async with world(tmp_path, **settings) as here, here.browser() as browser:  # type: ignore[arg-type]
        statuses = [(await browser.post(URL, json={"task": "x"})).status_code for _ in range(3)]
        refused: httpx2.Response = await browser.post(URL, json={"task": "x"})
    assert statuses == [200, 200, 429]
    assert int(refused.headers["retry-after"]) >= 1
