"""A budget that is used up in the middle of a turn ends it as it would have refused it: by 429, by 503, or aloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.test_two_processes import STRANGER, browser
from tests.support.offline_peer import OfflinePeer, running_peer
from tests.support.running_server import RunningServer, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

AGAIN: dict[str, Any] = {"calls": [{"name": "no_such_tool", "arguments": {}}]}
"""An answer after which the model is asked once more: there is nothing left for that."""
SOME = "50"
"""Tokens: enough to begin, and not for a second request."""
QUESTION = "what is the weather in Seattle"


@pytest.fixture(scope="module")
def running() -> Iterator[OfflinePeer]:
    with running_peer() as process:
        yield process


@pytest.fixture
async def peer(running: OfflinePeer) -> OfflinePeer:
    await running.follow({"chat": [AGAIN, {"text": "Four."}]})
    return running


async def logs_the_stop(server: RunningServer) -> None:
    """Wait for the line of the security log about the exhausted budget."""
    log = server.folder / "security.log"
    await until(lambda: '"budget": "user.model_tokens"' in log.read_text(), 5)


@pytest.mark.parametrize("path", ["/api/singleturn", "/api/multiturn", "/api/reasoning"])
async def test_a_turn_over_its_users_budget_answers_429_with_a_hint(peer: OfflinePeer, path: str) -> None:
    with running_server(peer, BUDGETS__USER__MODEL_TOKENS=SOME) as server:
        async with browser(server, STRANGER) as client:
            body = {"task": "think"} if path == "/api/reasoning" else {"message": "What is 2 + 2?"}
            refused = await client.post(path, json=body)
            assert refused.status_code == 429, refused.text
            assert "model tokens is used up" in refused.json()["error"]["message"]
            assert "midnight UTC" in refused.json()["error"]["hint"] and int(refused.headers["retry-after"]) > 0
        await logs_the_stop(server)


async def test_a_turn_over_everybodys_budget_answers_503_with_a_hint(peer: OfflinePeer) -> None:
    with running_server(peer, BUDGETS__TOTAL__MODEL_TOKENS=SOME) as server:
        async with browser(server, STRANGER) as client:
            refused = await client.post("/api/singleturn", json={"message": "What is 2 + 2?"})
            assert refused.status_code == 503, refused.text
            assert "BUDGETS__TOTAL__" in refused.json()["error"]["hint"] and int(refused.headers["retry-after"]) > 0


async def test_a_streamed_turn_over_its_budget_ends_with_an_error_and_a_hint(peer: OfflinePeer) -> None:
    with running_server(peer, BUDGETS__USER__MODEL_TOKENS=SOME) as server:
        async with browser(server, STRANGER) as client:
            streamed = await client.post("/api/multiturn", json={"message": "What is 2 + 2?", "stream": True})
            lines = streamed.text.splitlines()
            data = json.loads(lines[lines.index("event: error") + 1].removeprefix("data: "))
            assert "used up" in data["message"] and "midnight UTC" in data["hint"]


async def test_by_voice_the_responder_is_told_so_and_the_call_ends_with_a_goodbye(peer: OfflinePeer) -> None:
    ask = {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "how deep is the sea"}}
    turn = {
        "hear": QUESTION,
        "reply": {"calls": [ask]},
        "after_results": [{"text": "Not today.", "tone": {"hz": 440, "ms": 500}}],
    }
    await peer.follow({"turns": [turn], "chat": [AGAIN, {"text": "Deep."}]})
    with running_server(peer, BUDGETS__USER__MODEL_TOKENS=SOME, BUDGETS__LIMIT_LOOPBACK="true") as server:
        async with placed_call(server) as call:
            await call.say(silence(200) + speech(QUESTION))
            ended = await call.told("session_ended", within_s=20)
            assert ended.data["reason"] == "budget" and call.audible(), "a goodbye was spoken"
        sent = [
            event["event"]["item"] for event in (await peer.connections())[-1]["received"] if "item" in event["event"]
        ]
        results = [item["output"] for item in sent if item["type"] == "function_call_output"]
        assert len(results) == 1 and "model tokens is used up for today" in results[0], results
        await logs_the_stop(server)
