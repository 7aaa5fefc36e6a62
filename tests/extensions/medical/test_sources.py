"""A reply with a score names the score's source."""

import json
from pathlib import Path

import pytest

from tests.http.test_chat import say
from tests.http.world import world
from tests.support.agents import call


@pytest.mark.document("000", "thinking")
async def test_a_reply_names_its_sources_by_title_and_address_also_when_it_is_read_again(tmp_path: Path) -> None:
    route = json.dumps({"domain": "medical", "query": "My BMI at 70 kilos and 1.75 m?"})
    bmi = json.dumps({"score": "bmi", "values": {"weight_kg": 70, "height_cm": 175}})
    scenes = ([call("route_to_thinker", route)], [call("medical_calculator", bmi)], ["It is 22.9."], ["It is 22.9."])
    sources = [{"title": "Body mass index: WHO Technical Report Series 894 (2000)", "url": ""}]
    async with world(tmp_path, scenes=scenes) as here, here.browser() as browser:
        reply = await say(browser, "My BMI?", message_id="m1", conversation_id="c1")
        assert reply["citations"] == sources
        here.chat._by_message.clear()  # as after a restart
        assert await say(browser, "My BMI?", message_id="m1", conversation_id="c1") == reply
        messages = (await browser.get("/api/conversations/c1")).json()["messages"]
        assert messages[-1]["citations"] == sources
