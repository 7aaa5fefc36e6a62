"""A provider dies during an answer, and the call continues with the next one. Real processes are killed."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.first_sound import reply_sounds
from tests.support.offline_peer import restartable_peer
from tests.support.running_server import PlacedCall, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

QUESTION = "tell me a story"
STORY = {"hear": QUESTION, "reply": {"text": "Once upon a time.", "tone": {"hz": 440, "ms": 6000}, "pace": 1}}
REST = {"hear": QUESTION, "reply": {"text": "They lived happily.", "tone": {"hz": 880, "ms": 400}}}
OPENAI, LOCAL = "OpenAI Realtime API", "local Responder"


async def ask(call: PlacedCall) -> None:
    await call.say(silence(100) + speech("tell me a story please"))


def times_said(call: PlacedCall, words: str) -> int:
    """Return how often a reply with these words ended."""
    return [data["content"] for data in call.events_of("transcript")].count(words)


def put_back(connection: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the role and words of each item that a new connection got before its first request."""
    items = []
    for event in connection["received"]:
        if event["type"] == "response.create":
            break
        if event["type"] == "conversation.item.create":
            item = event["event"]["item"]
            items.append((item["role"], item["content"][0]["text"]))
    return items


@pytest.mark.alone
async def test_the_next_provider_finishes_an_answer_and_the_call_returns_between_turns(
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
                await reply_sounds(call, 20)
                one.kill()
                await call.event("responder_changed", 20, state="connected", responder=LOCAL)
                await until(lambda: times_said(call, "They lived happily.") == 1, 20)
                [connection] = [each for each in await two.peer.connections() if each["received"]]
                [asked, *notes] = put_back(connection)
                assert asked == ("user", QUESTION) and any("Briefly finish it" in text for _, text in notes)
                assert times_said(call, "One moment, please.") <= 1
                assert (await call.http.get("/readyz")).json()["responders"]["local"] == "ok"

                await one.start()
                await call.event("responder_changed", 30, state="connected", responder=OPENAI)
                assert times_said(call, "They lived happily.") == 1
                history = put_back((await one.peer.connections())[-1])
                assert ("user", QUESTION) in history and ("assistant", "They lived happily.") in history
                assert not call.events_of("session_ended")


async def test_readiness_follows_the_provider_without_a_call(tmp_path: Path) -> None:
    async with restartable_peer(tmp_path / "one.json", {"turns": [REST]}) as one:
        one.kill()
        with running_server(one.peer) as server:
            async with httpx2.AsyncClient(base_url=server.url, trust_env=False) as http:
                never = await http.get("/readyz")
                assert never.status_code == 503 and "OPENAI_BASE_URL" in never.json()["checks"]["responder"]
                peer = await one.start()

                async def ready() -> bool:
                    return (await http.get("/readyz")).status_code == 200

                await until(ready, 60)
                assert len(await peer.connections()) <= 2, "each request probed the provider"
