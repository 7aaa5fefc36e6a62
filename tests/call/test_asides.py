"""Speech over a reply that does not stop it, in real calls: an aside to somebody else, and interruptions off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import PlacedCall, RunningServer, placed_call, running_server
from tests.support.speech import silence, speech
from tests.support.waiting import until


@pytest.fixture(scope="module")
def server(peer: OfflinePeer) -> Iterator[RunningServer]:
    with running_server(OFFLINE_URL=peer.url) as running:
        yield running


async def talk_over_a_long_reply(call: PlacedCall, words: str) -> None:
    """Ask what is answered at length, and speak over the answer."""
    await call.say(silence(300) + speech("what can you do"))
    await call.hears_something(20)
    await asyncio.sleep(2.0)  # later than what would be taken for a false start
    await call.say(speech(words) + silence(200))


async def test_a_reply_cut_by_words_to_somebody_else_goes_on_and_is_heard_whole(
    peer: OfflinePeer, server: RunningServer
) -> None:
    await peer.follow(None)
    async with placed_call(server) as call:
        await talk_over_a_long_reply(call, "I am talking to my son now")
        cut = await call.told("transcript_interrupted", within_s=10.0)
        item = cut.data["item_id"]
        await call.told("transcript", within_s=20.0, role="assistant", item_id=item)
        shown = (await call.http.get(f"/api/sessions/{call.ticket.session_id}/transcript")).json()["messages"]
        said = [(entry["role"], entry["content"]) for entry in shown]
        assert [role for role, _ in said] == ["user", "assistant", "user"]
        assert said[0][1] == "What can you do?" and "talking to my son" in said[2][1]
        assert said[1][1] == cut.data["content"], "the whole reply, though it was cut"


async def test_while_interruptions_are_off_a_reply_is_heard_to_its_end_and_what_was_said_over_it_answered_then(
    peer: OfflinePeer, server: RunningServer
) -> None:
    await peer.follow(None)
    async with placed_call(server) as call:
        path = f"/api/sessions/{call.ticket.session_id}/interruptions"
        assert (await call.http.post(path, json={"allowed": False})).status_code == 202
        await call.told("interruptions", allowed=False)
        await talk_over_a_long_reply(call, "what time is it")
        await call.told("transcript", within_s=20.0, role="assistant")
        await until(lambda: any(data["content"].startswith("It is") for data in call.all_told("transcript")), 20)
        assert call.all_told("transcript_interrupted") == []
