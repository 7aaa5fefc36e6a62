"""Search on the web, through a SearXNG server of the operator's or Brave Search.

Documented at docs.searxng.org/dev/search_api.html and api-dashboard.search.brave.com. Where neither is set up, or
the one set up does not answer, the call fails and says so: there is no such thing as a sample of the web.
"""

from __future__ import annotations

import html
import re
from typing import Annotated, Any

from httpx2 import AsyncClient
from pydantic import Field

from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, tool
from backend.tools.fetch import ServiceUnreachable, fetch_json, refused

SERVICE = "The web search"


@tool(
    "web_search",
    "Searches the web. Returns titles, addresses and excerpts of the best pages.",
    guidance="Web search: rely on the excerpts, prefer several that agree, and name the sites.",
    clients=OURS | {"copilot"},
)
async def web_search(
    http: AsyncClient,
    settings: Settings,
    query: Annotated[str, Field(min_length=1, max_length=400, description="What to search for.")],
    count: Annotated[int, Field(ge=1, le=10, description="How many results.")] = 5,
) -> Result:
    """Raises `ToolFailed` when no provider is set up, `ServiceUnreachable` when it gives no usable answer."""
    if settings.searxng_url:
        found = await _searxng(http, settings.searxng_url, query)
    elif settings.brave_api_key:
        found = await _brave(http, settings.brave_url, settings.brave_api_key.get_secret_value(), query, count)
    else:
        raise refused("The web cannot be searched: neither SEARXNG_URL nor BRAVE_API_KEY is set.")
    results = _distinct(found)[:count]
    return Result({"results": results}, citations=tuple(f"{one['title']} ({one['url']})" for one in results))


async def _searxng(http: AsyncClient, url: str, query: str) -> list[dict[str, str]]:
    params = {"q": query, "format": "json", "safesearch": 1}
    answer = await fetch_json(http, SERVICE, f"{url.rstrip('/')}/search", params)
    return _results(answer.get("results") if isinstance(answer, dict) else None, "content")


async def _brave(http: AsyncClient, url: str, key: str, query: str, count: int) -> list[dict[str, str]]:
    params = {"q": query, "count": count, "safesearch": "moderate"}
    headers = {"X-Subscription-Token": key}
    answer = await fetch_json(http, SERVICE, f"{url.rstrip('/')}/web/search", params, headers)
    if not isinstance(answer, dict) or answer.get("type") != "search":
        raise ServiceUnreachable(f"{SERVICE} answers with something we cannot read.")
    web = answer.get("web", {"results": []})  # left out when nothing was found
    return _results(web.get("results") if isinstance(web, dict) else None, "description")


def _results(found: Any, excerpt: str) -> list[dict[str, str]]:
    """Title, address, excerpt of each result, without the markup that highlights matches."""
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ServiceUnreachable(f"{SERVICE} answers with something we cannot read.")
    return [
        {"title": _plain(one.get("title")), "url": str(one["url"]), "excerpt": _plain(one.get(excerpt))[:600]}
        for one in found
        if str(one.get("url", "")).startswith(("http://", "https://"))
    ]


def _plain(text: Any) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "", str(text or ""))).strip()


def _distinct(results: list[dict[str, str]]) -> list[dict[str, str]]:
    return list({one["url"].rstrip("/"): one for one in reversed(results)}.values())[::-1]
