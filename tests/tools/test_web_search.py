"""Web search through both providers, and without one."""

from typing import Any

import httpx2
import pytest

from backend.citations import Citation
from backend.errors import ToolFailed
from backend.settings.settings import load_settings
from backend.testing.services import search_apis
from backend.testing.services.server import ApiServer, Handler, Reply, serving
from backend.tools.base import Result
from backend.tools.fetch import ServiceUnreachable
from backend.tools.web_search import web_search

EXPECTED = [
    {"title": "Bikes & cities", "url": "https://a.example/bikes", "excerpt": "Lanes work."},
    {"title": "Trams", "url": "https://b.example/trams", "excerpt": "Trams work too."},
]


async def searched(
    provider: str, handler: Handler, query: str = "bikes", count: int = 5, key: str = search_apis.BRAVE_KEY
) -> tuple[Result, ApiServer]:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        chosen: dict[str, Any] = {"searxng_url": server.url}
        if provider == "brave":
            chosen = {"brave_url": server.url, "brave_api_key": key}
        return await web_search(http, load_settings(_env_file=None, **chosen), query, count), server


@pytest.mark.document("000", "eight tools")
@pytest.mark.parametrize(("provider", "handler"), [("searxng", search_apis.searxng), ("brave", search_apis.brave)])
async def test_results_come_plain_distinct_and_with_safe_addresses(provider: str, handler: Handler) -> None:
    result, _ = await searched(provider, handler)
    assert result.data["results"] == EXPECTED
    assert result.citations[1] == Citation("Trams", "https://b.example/trams")
    assert result.spoken == "Bikes & cities: Lanes work."


async def test_a_search_without_results_gives_an_empty_list() -> None:
    result, _ = await searched("brave", search_apis.brave, "nothing")
    assert result.data["results"] == []
    assert result.empty and result.spoken == "That search found nothing."


async def test_without_a_provider_it_says_so_and_makes_nothing_up() -> None:
    async with httpx2.AsyncClient(verify=False) as http:
        with pytest.raises(ToolFailed, match="SEARXNG_URL nor BRAVE_API_KEY"):
            await web_search(http, load_settings(_env_file=None), "bikes")


@pytest.mark.parametrize("provider", ["searxng", "brave"])
async def test_a_failing_search_is_an_error_and_nothing_is_made_up(provider: str) -> None:
    with pytest.raises(ServiceUnreachable):
        await searched(provider, lambda request: Reply(503))
