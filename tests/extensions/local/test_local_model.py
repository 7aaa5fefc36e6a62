"""The local Responder with a chat server behind it: calls and Thinkers are answered by the model."""

import asyncio

import pytest

from backend.extensions.local.synthesis.voice import speak
from backend.testing.services.server import serving
from tests.support.chat_api import ended, stream, words
from tests.support.running_server import placed_call, running_server
from tests.support.speech import silence
from tests.support.waiting import until

pytestmark = pytest.mark.realtime

ANSWER = stream(words("It is cold. ", "Take a coat."), ended())
STORY = stream(words(*["Once upon a time there was a fox. "] * 8), [15.0], words("The end."), ended())


@pytest.mark.slow
@pytest.mark.realtime
async def test_a_call_is_answered_by_the_model_and_an_interruption_ends_its_stream() -> None:
    async with serving(lambda request: STORY if "story" in request.body.decode() else ANSWER) as model:
        with running_server(OFFLINE_URL="", LOCAL_MODEL_URL=model.url, LOCAL_MODEL="llama3.2") as server:
            async with placed_call(server, within_s=30) as call:
                await call.say(silence(500) + await asyncio.to_thread(speak, "Please tell me a story."))
                await until(lambda: any("a fox" in event["delta"] for event in call.events_of("transcript_delta")), 30)
                heard = len(call.audible())
                await until(lambda: len(call.audible()) > heard + 50, 20)
                model.hung_up.clear()
                assert model.open, "the model still streams what is being spoken"
                await call.say(await asyncio.to_thread(speak, "Stop, that is enough."))
                await asyncio.wait_for(model.hung_up.wait(), 30)
                await call.hears_nothing_for(1.0)
            assert any("a fox" in each["content"] for each in call.events_of("transcript_interrupted"))
