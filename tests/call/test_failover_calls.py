"""A provider dies in the middle of an answer: the call goes on with the next one. Real processes, killed for real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.offline_peer import restartable_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "tell me a story"
STORY = {"hear": QUESTION, "reply": {"text": "Once upon a time.", "tone": {"hz": 440, "ms": 6000}, "pace": 1}}
REST = {"hear": QUESTION, "reply": {"text": "They lived happily.", "tone": {"hz": 880, "ms": 400}}}
OPENAI, LOCAL = "OpenAI Realtime API", "local Responder"


async def ask(call: PlacedCall) -> None:
    await call.say(silence(100) + speech("tell me a story please"))


def told(call: PlacedCall, words: str) -> int:
    """How often the caller heard this, to its end."""
    return [data["content"] for data in call.events_of("transcript")].count(words)


def put_back(connection: dict[str, Any]) -> list[tuple[str, str]]:
    """Role and words of what a new connection was given before its first reply was asked for."""
    items = []
    for event in connection["received"]:
        if event["type"] == "response.create":
            break
        if event["type"] == "conversation.item.create":
            item = event["event"]["item"]
            items.append((item["role"], item["content"][0]["text"]))
    return items


@pytest.mark.alone
async def test_an_answer_cut_by_its_providers_death_is_finished_by_the_next_and_the_call_returns_between_turns(
    tmp_path: Path,
) -> None:
    second = {"turns": [REST, STORY]}
    async with (
        restartable_peer(tmp_path / "one.json", {"turns": [STORY]}) as one,
        restartable_peer(tmp_path / "two.json", second) as two,
    ):
        settings = {"RESPONDERS": "openai,local", "OFFLINE_URL": two.peer.url}
        with running_server(one.peer, **settings) as server:
            async with placed_call(server) as call:
                assert call.events_of("session_started")[0]["responder"] == OPENAI
                await ask(call)
                await call.event("transcript", 20, content=QUESTION)
                await call.hears_something(20)
                one.kill()
                await call.event("responder_changed", 20, state="connected", responder=LOCAL)
                await until(lambda: told(call, "They lived happily.") == 1, 20)
                [connection] = [each for each in await two.peer.connections() if each["received"]]
                [asked, *notes] = put_back(connection)
                assert asked == ("user", QUESTION) and any("Briefly finish it" in text for _, text in notes)
                assert told(call, "One moment, please.") <= 1
                assert (await call.http.get("/readyz")).json()["responders"]["local"] == "ok"

                await one.start()
                await call.event("responder_changed", 30, state="connected", responder=OPENAI)
                assert told(call, "They lived happily.") == 1
                history = put_back((await one.peer.connections())[-1])
                assert ("user", QUESTION) in history and ("assistant", "They lived happily.") in history
                assert not call.events_of("session_ended")


async def test_readiness_is_lost_with_the_provider_and_comes_back_without_a_call(tmp_path: Path) -> None:
    async with restartable_peer(tmp_path / "one.json", {"turns": [REST]}) as one:
        one.kill()
        with running_server(one.peer) as server:
            async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
                never = await http.get("/readyz")
                assert never.status_code == 503 and "OPENAI_BASE_URL" in never.json()["checks"]["responder"]
                peer = await one.start()

                async def ready() -> bool:
                    return (await http.get("/readyz")).status_code == 200

                await until(ready, 20)
                assert len(await peer.connections()) <= 2, "it is not probed at every question"
