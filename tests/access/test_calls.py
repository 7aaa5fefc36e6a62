"""Live calls and budgets: permits, the goodbye when a budget is used up, and sockets that send no token."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.access.world import OTHER, STRANGER, paying
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.two_servers import two_servers
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"


async def test_a_call_over_its_voice_budget_ends_with_a_goodbye_and_returns_its_permit(peer: OfflinePeer) -> None:
    limits = {"BUDGETS__USER__VOICE_MINUTES": "0.05", "BUDGETS__LIVE_CALLS": "1", "BUDGETS__LIMIT_LOOPBACK": "true"}
    with two_servers(peer, **limits) as (one, two):
        async with placed_call(one) as call, a_browser(two) as other:
            assert (await other.post("/api/sessions", json={})).status_code == 429, "the address got a second live call"
            ended = await call.event("session_ended", within_s=20)
            assert ended.data["reason"] == "budget" and call.audible(), "a goodbye was spoken"
            assert (await call.http.post("/api/sessions", json={})).status_code == 429

        async def is_admitted() -> bool:
            async with a_browser(two) as another:
                return (await another.post("/api/sessions", json={})).status_code == 200

        await until(is_admitted, 20)


async def test_a_thinker_over_the_budget_fails_with_the_reason_and_the_call_ends_with_a_goodbye(
    peer: OfflinePeer,
) -> None:
    ask = {"name": "route_to_thinker", "arguments": {"domain": "knowledge", "query": "how deep is the sea"}}
    turn: dict[str, Any] = {
        "hear": QUESTION,
        "reply": {"calls": [ask]},
        "after_results": [{"text": "Not today.", "tone": {"hz": 440, "ms": 500}}],
    }
    again = {"calls": [{"name": "no_such_tool", "arguments": {}}]}
    await peer.follow({"turns": [turn], "chat": [again, {"text": "Deep."}]})
    with running_server(peer, BUDGETS__USER__MODEL_TOKENS="50", BUDGETS__LIMIT_LOOPBACK="true") as server:
        async with placed_call(server) as call:
            await call.say(silence(200) + speech(QUESTION))
            ended = await call.event("session_ended", within_s=20)
            assert ended.data["reason"] == "budget" and call.audible(), "a goodbye was spoken"
        received = [event["event"] for event in (await peer.connections())[-1]["received"]]
        items = [event["item"] for event in received if "item" in event]
        results = [item["output"] for item in items if item["type"] == "function_call_output"]
        assert len(results) == 1 and "model tokens is used up for today" in results[0], results
        log = server.folder / "security.log"
        await until(lambda: '"budget": "user.model_tokens"' in log.read_text(), 20)


async def test_an_address_has_sixteen_sockets_without_a_token_and_blocks_no_other_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.http.calls.TOKEN_WITHIN_S", 3.0)
    async with paying(tmp_path, budgets={}) as here, here.browser(headers=OTHER) as other:

        async def hold(_: int) -> int:
            try:
                async with await here.socket(f"/ws/{'a' * 22}", additional_headers=STRANGER) as socket:
                    await socket.wait_closed()
                    return socket.close_code or 0
            except InvalidStatus as refused:
                return refused.response.status_code

        opened = (await other.post("/api/sessions", json={})).json()
        holding = [asyncio.create_task(hold(number)) for number in range(40)]
        path = f"/ws/{opened['session_id']}"
        async with await here.socket(path, opened["token"], additional_headers=OTHER) as call:
            await call.send(b"hello")
            assert await call.recv() == b"hello"
            assert not all(task.done() for task in holding), "the sockets were closed early"
        assert Counter(await asyncio.gather(*holding)) == {4404: 16, 403: 24}
