"""A whole spoken call with Qwen-Omni-Realtime's protocol: the server finds turns, and nothing can be taken back."""

import pytest

from tests.support.provider_calls import interrupted_call
from tests.support.running_server import running_server

pytestmark = pytest.mark.realtime


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    made = await interrupted_call("qwen", lambda peer: {"QWEN__API_KEY": "k", "QWEN__BASE_URL": peer.base_url})
    updates = [event for event in made.received if event["type"] == "session.update"]
    assert made.heard.split()[-1] in updates[-1]["session"]["instructions"], "the heard part is sent there"
    types = [event["type"] for event in made.received]
    asked, committed = types.count("response.create"), types.count("input_audio_buffer.commit")
    assert 2 <= asked <= committed, "an answer may be prepared in a pause, and requested again if the caller goes on"
    assert made.errors <= {"response_cancel_not_active"}


def test_a_server_that_does_not_find_turns_either_is_refused() -> None:
    refused = pytest.raises(AssertionError, match="nothing detects the turns of calls with qwen")
    keys = {"QWEN__API_KEY": "k", "OPENAI_API_KEY": "k", "VAD__ENABLED": "false"}
    with refused, running_server(None, RESPONDERS="openai,qwen", **keys):
        pass
