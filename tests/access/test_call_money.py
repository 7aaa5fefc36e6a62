"""A call over the money of the day ends after its answer and a sentence about the limit."""

from typing import Any

import httpx2
import pytest

from backend.turns.commands import CLIP_WORDS, Clip
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, a_browser, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until

QUESTION = "what is the weather in Seattle"
ANSWER: dict[str, Any] = {"text": "It is sunny in Seattle today, and warm.", "tone": {"hz": 440, "ms": 2500}}
NO_MONEY = {"BUDGETS__USER__USD": "0.0001", "BUDGETS__LIMIT_LOOPBACK": "true"}


async def heard_to_the_end(call: PlacedCall, sentence: str) -> str:
    """Wait until a call has ended after a complete answer and a complete last sentence; return the reason."""
    ended = await call.event("session_ended", within_s=20)
    said = [each["content"] for each in call.events_of("transcript") if each["role"] == "assistant"]
    assert said[-2:] == [ANSWER["text"], sentence]
    sounding_ms = 20 * len(call.audible())
    assert sounding_ms > 2500 + 1500, "the answer or the sentence after it was cut"
    assert not call.events_of("transcript_interrupted")
    return str(ended.data["reason"])


async def entries_of(browser: httpx2.AsyncClient, conversation: str) -> list[dict[str, Any]]:
    """Return the ledger's entries of a call that has ended."""

    async def written() -> bool:
        answer = await browser.get(f"/api/conversations/{conversation}/export")
        return answer.status_code == 200 and answer.json()["entries"][-1]["kind"] == "call"

    await until(written, 20)
    entries: list[dict[str, Any]] = (await browser.get(f"/api/conversations/{conversation}/export")).json()["entries"]
    return entries


async def test_a_call_over_the_money_of_the_day_ends_after_its_answer_and_the_next_is_refused(
    peer: OfflinePeer,
) -> None:
    await peer.follow({"turns": [{"hear": QUESTION, "reply": ANSWER}]})
    with running_server(peer, **NO_MONEY) as server:
        async with a_browser(server) as browser:
            async with placed_call(server, browser=browser) as call:
                await call.say(silence(200) + speech(QUESTION))
                assert await heard_to_the_end(call, CLIP_WORDS[Clip.BUDGET]) == "budget"
                used = call.events_of("usage")[-1]
                assert used["call_usd"] > 0.0001
            entries = await entries_of(browser, call.ticket.conversation_id)
            assert sum(each.get("cost_usd", 0) for each in entries) == pytest.approx(used["call_usd"])
            reply = next(each for each in entries if each.get("role") == "assistant" and "cost_usd" in each)
            assert (reply["model"], reply["details"]["responder"]) == (used["model"], used["responder"])
            assert (entries[-1]["text"], entries[-1]["name"]) == ("budget", used["responder"])
            assert entries[-1]["model"] == used["model"]
            refused = await browser.post("/api/sessions", json={})
            assert refused.status_code == 429 and "money" in refused.json()["error"]["message"]


async def test_a_model_without_a_price_is_named_when_the_server_starts(peer: OfflinePeer) -> None:
    with running_server(peer, REALTIME_MODEL="gpt-unheard-of", **NO_MONEY) as server:
        log = (server.folder / "stderr.log").read_text() + server.printed
    assert "US dollars do not count gpt-unheard-of" in log
