"""Thinkers without a language model: tools give the answers, and nothing is made up."""

from __future__ import annotations

from typing import Any

import pytest

from backend.testing.services.server import serving
from tests.support.agents import call
from tests.thinkers.test_research import everything, settings_for
from tests.thinkers.world import World, world

NO_MODEL: Any = frozenset(("voice", "chat"))


def domain_of(here: World, turns: Any) -> dict[str, Any]:
    field: dict[str, Any] = here.thinkers.registry.route_tool(turns)["parameters"]["properties"]["domain"]
    return field


async def test_research_searches_for_the_question_itself_and_quotes_each_source() -> None:
    async with serving(everything) as server, world(settings=settings_for(server.url), without_model=NO_MODEL) as here:
        answer = await here.ask("research", "Do bikes help?")
    assert not here.model.requests
    assert answer.text.startswith("From the web: ") and " From the news: " in answer.text
    assert (answer.source, answer.tool_calls) == ("live", 3)
    assert answer.citations


async def test_research_says_which_sources_it_could_not_search() -> None:
    async with serving(everything) as server:
        settings = settings_for(server.url, newsapi_url="http://127.0.0.1:9", searxng_url="")
        async with world(settings=settings, without_model=NO_MODEL) as here:
            answer = await here.ask("research", "Do bikes help?")
    assert "I could not search " in answer.text or "I found nothing about that in any source." in answer.text


async def test_reasoning_is_one_turn_with_the_calculator() -> None:
    scenes = ([call("calculate", '{"expression": "50 - 3 * 12"}')], ["The change is 14."])
    async with world(*scenes, without_model=NO_MODEL) as here:
        answer = await here.ask("reason", "What change do I get?")
        assert (answer.text, answer.tool_calls) == ("The change is 14.", 1)
        offered = [tool["function"]["name"] for tool in here.model.requests[0]["tools"]]
    assert offered == ["calculate"]


@pytest.mark.parametrize(("turns", "is_described"), [("voice", True), ("chat", False)])
async def test_the_routing_tool_describes_the_domains_when_no_model_reads_the_guide(
    turns: Any, *, is_described: bool
) -> None:
    async with world(without_model=frozenset(("voice",))) as here:
        domain, manifests = domain_of(here, turns), here.thinkers.registry.manifests
    assert domain["enum"] == [each.domain for each in manifests]
    assert ("oneOf" in domain) is is_described
    if is_described:
        assert [each["const"] for each in domain["oneOf"]] == domain["enum"]
        assert domain["default"] == "knowledge"
        assert all(each.example in entry["examples"] for each, entry in zip(manifests, domain["oneOf"], strict=True))
