"""A whole spoken call with xAI's protocol: the server finds and answers turns, and detects interruptions."""

import pytest

from tests.support.provider_calls import interrupted_call

pytestmark = pytest.mark.realtime


async def test_a_spoken_call_is_answered_interrupted_and_answered_again() -> None:
    made = await interrupted_call("xai", lambda peer: {"XAI__API_KEY": "k", "XAI__BASE_URL": peer.base_url})
    assert made.call.events_of("session_started")[0]["hearing"] == "provider"
    types = [event["type"] for event in made.received]
    assert "input_audio_buffer.commit" not in types and "response.create" not in types, "both come by themselves"
    assert made.errors <= {"response_cancel_not_active"}, "the provider has cancelled by itself before"
