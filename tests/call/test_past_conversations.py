"""Conversations in the ledger can be found, continued and erased after they expired in memory."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx2
import pytest

from backend.storage.client import connect
from tests.support.offline_peer import OfflinePeer
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.running_server import PlacedCall, RunningServer, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

QUESTION = "what is the weather in Seattle"
OUTCOMES = {"complete", "failed"}
TONE: dict[str, Any] = {"hz": 440, "ms": 200}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def server(peer: OfflinePeer, request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    settings = {"THINKER_MODEL": "priced", "BUDGETS__PRICES": '{"priced": {"text_in": 0.4, "text_out": 1.6}}'}
    if request.param == "postgresql":
        database: PostgresServer = request.getfixturevalue("postgres")
        settings["DATABASE_URL"] = database.empty_database()
    with running_server(peer, **settings) as running:
        yield running


async def converse(call: PlacedCall) -> None:
    """Ask, and listen to the whole answer."""
    replies = len(call.events_of("audio_playback_finished"))
    await call.say(silence(100) + speech("hello there"))
    await until(lambda: len(call.events_of("audio_playback_finished")) > replies)


async def expire(server: RunningServer, conversation_id: str) -> None:
    """Expire a conversation in Redis, as memory does after an hour."""
    redis = connect(f"unix://{server.folder}/var/redis/redis.sock")
    try:
        for key in await redis.keys(f"user:*:conversation:{conversation_id}"):
            await redis.pexpire(key, 1)
        await until(lambda: _gone(redis, conversation_id))
    finally:
        await redis.aclose()


async def _gone(redis: Any, conversation_id: str) -> bool:
    return not await redis.keys(f"user:*:conversation:{conversation_id}")


async def listed(browser: httpx2.AsyncClient, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await browser.get("/api/conversations", params=query)).json()["conversations"]
    return found


@pytest.mark.document("002", "ledger")
async def test_a_past_call_can_be_found_continued_exported_and_erased(peer: OfflinePeer, server: RunningServer) -> None:
    reply = {"hear": QUESTION, "reply": {"text": "It is sunny.", "tone": TONE}}
    routed = {"name": "route_to_thinker", "arguments": '{"domain": "reason", "query": "two and two"}'}
    thought = {"hear": "think hard", "reply": {"calls": [routed]}}
    await peer.follow({"turns": [reply, thought]})
    async with a_browser(server) as browser, a_browser(server) as stranger:
        async with placed_call(server, browser=browser) as call:
            await converse(call)
            await call.say(silence(100) + speech("hello there"))
            await until(lambda: any(data["event"] in OUTCOMES for data in call.events_of("thinker")), 20)
            conversation = call.ticket.conversation_id
        await until(lambda: _has(browser, conversation, 4))
        await expire(server, conversation)

        [found] = await listed(browser, q="SEATTLE")
        assert (found["id"], found["title"]) == (conversation, QUESTION)
        assert await listed(browser, q="Boston") == []
        shown = (await browser.get(f"/api/conversations/{conversation}")).json()["messages"]
        assert [each["content"] for each in shown][:2] == [QUESTION, "It is sunny."]
        exported = (await browser.get(f"/api/conversations/{conversation}/export")).json()["entries"]
        assert {"message", "tool_call", "thinker_answer"} <= {each["kind"] for each in exported}
        answered = next(each for each in exported if each["text"] == "It is sunny.")
        assert (answered["role"], answered["mode"], bool(answered["model"])) == ("assistant", "voice", True)

        assert await listed(stranger) == []
        for path in (f"/api/conversations/{conversation}", f"/api/conversations/{conversation}/export"):
            assert (await stranger.get(path)).status_code == 404

        await peer.follow({"turns": [reply]})
        async with placed_call(server, browser=browser, conversation=conversation) as call:
            await converse(call)
        received = [each["event"] for each in (await peer.connections())[-1]["received"]]
        put_back = [each["item"] for each in received if each["type"] == "conversation.item.create"]
        assert [item["content"][0]["text"] for item in put_back][:2] == [QUESTION, "It is sunny."]
        assert len(await listed(browser)) == 1

        assert (await browser.delete("/api/me")).status_code == 200
        assert await listed(browser) == []


async def test_the_ledger_has_tools_models_and_costs_of_calls_and_typed_turns(
    peer: OfflinePeer, server: RunningServer
) -> None:
    routed = {"name": "route_to_thinker", "arguments": '{"domain": "weather", "query": "weather in Seattle"}'}
    await peer.follow({"turns": [{"hear": QUESTION, "reply": {"calls": [routed]}}]})
    async with a_browser(server) as browser:
        async with placed_call(server, transport="ws", browser=browser) as call:
            spoken = call.ticket.conversation_id
            await call.say(silence(100) + speech("hello there"))
            await until(lambda: any(data["event"] in OUTCOMES for data in call.events_of("thinker")), 20)
        typed = {"message": "What's the weather in Boston?", "conversation_id": "typed", "platform": "api"}
        assert (await browser.post("/api/multiturn", json=typed)).status_code == 200
        for conversation in (spoken, "typed"):
            await until(partial(_has, browser, conversation, 5))
            export = await browser.get(f"/api/conversations/{conversation}/export")
            entries = export.json()["entries"]
            [answer] = [each for each in entries if each["kind"] == "thinker_answer"]
            assert (answer["name"], answer["tokens"] > 0, answer["cost_usd"] > 0) == ("weather", True, True)
            tools = [each for each in entries if each.get("details", {}).get("for") == answer["entry_id"]]
            assert [(each["kind"], each["name"]) for each in tools] == [
                ("tool_call", "get_current_weather"),
                ("tool_output", "get_current_weather"),
            ]
        [reply] = [each for each in entries if each.get("role") == "assistant"]
        assert (bool(reply["model"]), reply["tokens"] > 0, reply["cost_usd"] > 0) == (True, True, True)
        assert [each["name"] for each in entries if each.get("details", {}).get("for") == reply["entry_id"]] == [
            "route_to_thinker"
        ] * 2


async def _has(browser: httpx2.AsyncClient, conversation: str, entries: int) -> bool:
    answer = await browser.get(f"/api/conversations/{conversation}/export")
    return answer.status_code == 200 and len(answer.json()["entries"]) >= entries
