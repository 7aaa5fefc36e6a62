"""Words to another person interrupt a reply in a real call."""

import asyncio
import re

import pytest

from tests.support.first_sound import reply_sounds
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence, speech

pytestmark = pytest.mark.realtime


async def test_a_reply_resumes_after_words_to_another_person() -> None:
    with running_server() as server:
        async with placed_call(server) as call:
            await call.say(silence(300) + speech("what can you do"))
            await reply_sounds(call, 20.0)
            await asyncio.sleep(2.0)  # late enough that the reply is no false start
            await call.say(speech("I am talking to my son now") + silence(200))
            cut = await call.event("transcript_interrupted", within_s=20.0)
            await call.event("transcript", within_s=20.0, role="assistant", item_id=cut.data["item_id"])
            shown = (await call.http.get(f"/api/sessions/{call.ticket.session_id}/transcript")).json()["messages"]
    # A slow machine may say "One moment, please." before the reply.
    said = [(entry["role"], entry["content"]) for entry in shown if not entry["item_id"].startswith("clip-")]
    assert [role for role, _ in said] == ["user", "assistant", "user"]
    asked = re.findall(r"\w+", said[0][1].lower())  # a late packet may be heard as a full stop
    assert asked == ["what", "can", "you", "do"] and "talking to my son" in said[2][1]
    assert said[1][1] == cut.data["content"], "the reply was not completed"
