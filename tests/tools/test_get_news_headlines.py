"""The news tool against a server that speaks NewsAPI's JSON, and against one that does not."""

from typing import Any

import httpx2
import pytest

from backend.citations import Citation
from backend.settings.settings import load_settings
from backend.testing.services import newsapi
from backend.testing.services.server import ApiServer, Handler, Reply, serving
from backend.tools.base import Clock, Result
from backend.tools.get_news_headlines import get_news_headlines

CLOCK = Clock(lambda: 1_795_262_400.0)  # 2026-11-21 12:00 UTC


async def asked(
    handler: Handler = newsapi.answering, key: str | None = newsapi.KEY, **arguments: Any
) -> tuple[Result, ApiServer]:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        settings = load_settings(_env_file=None, newsapi_url=server.url, newsapi_api_key=key)
        return await get_news_headlines(http, settings, CLOCK, **arguments), server


@pytest.mark.document("001", "tools and samples")
async def test_a_topic_is_searched_over_the_last_three_days() -> None:
    result, server = await asked(topic="space", count=2)
    request = server.requests[0]
    assert request.path == "/everything"
    assert (request.query["q"], request.query["from"]) == ("space", "2026-11-18")
    assert [one["title"] for one in result.data["headlines"]] == ["Rocket lands", "Moon base opens"]
    assert result.data["headlines"][0]["source"] == "Daily"
    assert result.spoken.startswith("Rocket lands, says Daily. Moon base opens, says ")
    assert result.citations[0] == Citation("Rocket lands", "https://news.example/1")


@pytest.mark.parametrize(("arguments", "category"), [({"category": "sports"}, "sports"), ({}, "general")])
async def test_a_category_gives_its_top_headlines(arguments: dict[str, Any], category: str) -> None:
    _, server = await asked(**arguments)
    assert server.requests[0].path == "/top-headlines"
    assert server.requests[0].query["category"] == category


async def test_withdrawn_and_repeated_articles_are_left_out() -> None:
    result, _ = await asked(count=5)
    assert len(result.data["headlines"]) == 3


async def test_no_news_is_an_empty_list_and_no_sample() -> None:
    result, _ = await asked(topic="nothing")
    assert result.data["headlines"] == []
    assert result.empty
    assert not result.sample


@pytest.mark.document("001", "tools and samples")
async def test_without_a_key_there_is_a_labelled_sample_and_no_request() -> None:
    result, server = await asked(key=None, topic="space", count=2)
    assert result.sample
    assert "NEWSAPI_API_KEY" in result.note
    assert [each["title"][-8:] for each in result.data["headlines"]] == ["(sample)", "(sample)"]
    assert "comet" in result.data["headlines"][0]["title"], "of that topic"
    other, _ = await asked(key=None, topic="llamas", count=1)
    assert other.data["headlines"] == [{"title": "Sample headline 1 about llamas", "source": "sample"}]
    assert other.spoken == "Sample headline 1 about llamas."
    assert server.requests == []


async def test_a_failing_service_gives_a_labelled_sample() -> None:
    result, _ = await asked(lambda request: Reply(503), topic="space")
    assert result.sample
    assert "sample" in result.note
