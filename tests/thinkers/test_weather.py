"""The weather Thinker: real data, or a sample that is called one everywhere."""

import re
from typing import Any

import pytest

from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from tests.support.agents import call
from tests.thinkers.world import world

SEATTLE = [call("get_current_weather", '{"location": "Seattle"}')]


async def test_a_sample_is_called_one_in_the_result_the_source_and_the_words() -> None:
    async with world(SEATTLE, ["In Seattle it is mild."]) as w:
        answer = await w.ask("weather", "weather in Seattle")
        tool_result = w.model.requests[-1]["messages"][-1]["content"]
    assert '"sample": true' in tool_result
    assert answer.source == "sample"
    assert "sample data" in answer.text


async def test_the_thinker_gets_the_users_unit_and_date_and_its_tool_their_home() -> None:
    def learn(context: dict[str, Any]) -> dict[str, Any]:
        home = {"default_location": "Seattle", "temperature_unit": "celsius", "time_zone": "Asia/Tokyo", "name": "Ada"}
        return {**context, "preferences": home}

    async with (
        serving(open_meteo.answering) as server,
        world([call("get_current_weather", "{}")], ["Cold."], settings=open_meteo.settings_for(server)) as w,
    ):
        await w.memory.update_user_context("ada", learn)
        assert (await w.ask("weather", "will it rain?")).source == "live"
        assert '"name": "Seattle"' in w.model.requests[-1]["messages"][-1]["content"]
        assert '{"temperature_unit": "celsius"}' in w.system()
        assert "It is Saturday, 21 November 2026." in w.system()
        assert not {"Ada", "Seattle", "Tokyo"} & set(re.findall(r"\w+", w.system()))


async def test_a_user_without_a_place_or_a_home_is_asked() -> None:
    async with world([call("get_current_weather", "{}")], ["Which place?"]) as w:
        await w.ask("weather", "will it rain?", user="bob")
        assert "Ask which place is meant" in w.model.requests[-1]["messages"][-1]["content"]


@pytest.mark.document("001", "user context")
async def test_a_place_that_users_state_for_themselves_is_stored() -> None:
    home = call("remember_preference", '{"name": "default_location", "value": "Oslo"}')
    async with world([home], ["Noted."], [call("get_current_weather", "{}")], ["Cold."]) as w:
        await w.ask("weather", "I live in Oslo, by the way.")
        await w.ask("weather", "Will it rain?")
        assert '"Oslo"' in w.model.requests[-1]["messages"][-1]["content"]
