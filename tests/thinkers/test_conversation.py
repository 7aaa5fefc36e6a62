"""One conversation through every Thinker there is, against local stand-ins of every service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backend.models.fake import FakeChatModel, Scene
from backend.settings import load_settings
from backend.tools.kb_store import KnowledgeBase
from tests.support import finnhub, newsapi, open_meteo, search_apis
from tests.support.api_server import Reply, Request, serving
from tests.support.minds import call
from tests.thinkers.world import world

SERVICES = {
    "/weather": open_meteo.answering,
    "/stocks": finnhub.answering,
    "/news": newsapi.answering,
    "/web": search_apis.searxng,
    "/pubmed": search_apis.pubmed,
}
CONVERSATION = {
    "weather": ("get_current_weather", {"location": "Seattle"}),
    "stocks": ("get_stock_price", {"company": "Apple"}),
    "news": ("get_news_headlines", {"topic": "space"}),
    "medical": ("pubmed_search", {"query": "vitamin d"}),
    "research": (None, {}),
    "knowledge": (None, {}),
}


def every_service(request: Request) -> Reply:
    """All of them behind one address, told apart by the first part of the path."""
    prefix = "/" + request.path.split("/")[1]
    request.path = request.path.removeprefix(prefix)
    reply = SERVICES[prefix](request)
    assert isinstance(reply, Reply)
    return reply


def scene(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Scene:
    """A model that calls the tool named in the question, plans for research, and answers."""
    if "Reply with JSON only" in messages[0]["content"]:
        searches = [{"query": "holidays", "sources": ["web", "news", "documents", "medicine"]}]
        return [json.dumps({"searches": [] if "Findings" in messages[-1]["content"] else searches})]
    name, arguments = json.loads(messages[-1]["content"]) if messages[-1]["role"] == "user" and tools else (None, {})
    return [call(name, json.dumps(arguments))] if name else ["An answer."]


async def test_every_thinker_answers_from_its_services(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text("# Handbook\n\n## Holidays\n\nThirty days.")
    KnowledgeBase(tmp_path / "kb.sqlite3").add(tmp_path / "handbook.md")
    async with serving(every_service) as server:
        settings = load_settings(
            _env_file=None,
            data_dir=tmp_path,
            open_meteo_forecast_url=f"{server.url}/weather/v1/forecast",
            open_meteo_geocoding_url=f"{server.url}/weather/v1/search",
            finnhub_url=f"{server.url}/stocks",
            finnhub_api_key=finnhub.KEY,
            newsapi_url=f"{server.url}/news",
            newsapi_api_key=newsapi.KEY,
            searxng_url=f"{server.url}/web",
            ncbi_url=f"{server.url}/pubmed",
        )
        async with world(model=FakeChatModel(improvise=scene), settings=settings) as w:
            assert {manifest.domain for manifest in w.thinkers.manifests} == set(CONVERSATION)
            answers = {domain: await w.ask(domain, json.dumps(step)) for domain, step in CONVERSATION.items()}
    assert answers.pop("knowledge").source == "model"
    assert {domain: answer.source for domain, answer in answers.items()} == dict.fromkeys(answers, "live")
    assert all(answer.citations for answer in answers.values())
    assert "Handbook, Holidays" in answers["research"].citations
    assert answers["research"].tool_calls == 4
