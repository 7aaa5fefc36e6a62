"""Words to another person that cut a reply, in a real call."""

from __future__ import annotations

import asyncio

from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence, speech


async def test_a_reply_cut_by_words_to_somebody_else_goes_on_and_is_heard_whole() -> None:
    with running_server() as server:
        async with placed_call(server) as call:
            await call.say(silence(300) + speech("what can you do"))
            await call.event("transcript_delta", within_s=20.0, role="assistant")
            await call.hears_something()
            await asyncio.sleep(2.0)  # later than what would be taken for a false start
            await call.say(speech("I am talking to my son now") + silence(200))
            cut = await call.event("transcript_interrupted", within_s=10.0)
            await call.event("transcript", within_s=20.0, role="assistant", item_id=cut.data["item_id"])
            shown = (await call.http.get(f"/api/sessions/{call.ticket.session_id}/transcript")).json()["messages"]
    # A slow machine may have said "One moment, please." before the reply.
    said = [(entry["role"], entry["content"]) for entry in shown if not entry["item_id"].startswith("clip-")]
    assert [role for role, _ in said] == ["user", "assistant", "user"]
    assert said[0][1] == "What can you do?" and "talking to my son" in said[2][1]
    assert said[1][1] == cut.data["content"], "the whole reply, though it was cut"
