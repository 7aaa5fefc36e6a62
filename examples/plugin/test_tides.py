"""Tests of the example plugin: no key, no network, no Redis."""

import json

import pytest
import tides

from backend.errors import NoAnswer
from responder_thinker.steps import Asked, Note
from responder_thinker.testing import ScriptedModel, World, run_step, run_thinker, run_tool, tool_call

NOON = World(clock=lambda: 1_795_262_400.0)


async def test_the_thinker_asks_its_tool_and_answers() -> None:
    model = ScriptedModel(tool_call("high_tide", port="Brest"), "High tide is in about three hours.")
    answer = await run_thinker(tides, "When is high tide in Brest?", model=model, tools=[tides.high_tide], world=NOON)
    assert answer.text == "High tide is in about three hours."
    assert (answer.source, answer.tool_calls) == ("live", 1)
    assert "never guess" in model.system_prompt


async def test_the_step_reaches_the_thinkers_prompt() -> None:
    model = ScriptedModel("Better wait an hour.")
    await run_thinker(tides, "May I swim?", model=model, tools=[tides.high_tide], steps=[tides.tide_warning])
    assert "currents are strongest" in model.system_prompt


async def test_a_model_that_fails_leaves_no_answer() -> None:
    with pytest.raises(NoAnswer):
        await run_thinker(tides, "When?", model=ScriptedModel(), tools=[tides.high_tide])


async def test_the_tool_counts_the_minutes_to_the_next_high_tide() -> None:
    result = await run_tool(tides.high_tide, {"port": "Brest"}, world=NOON)
    found = json.loads(result.content)
    assert result.error is None and "not a forecast" in result.content
    assert 0 < found["in_minutes"] <= 745


async def test_the_tool_refuses_unknown_arguments() -> None:
    result = await run_tool(tides.high_tide, {"harbour": "Brest"})
    assert result.error == "invalid_arguments"


async def test_the_step_speaks_up_for_swimmers_only() -> None:
    assert isinstance(await run_step(tides.tide_warning, Asked("May I swim there today?")), Note)
    assert await run_step(tides.tide_warning, Asked("When is low tide?")) is None
