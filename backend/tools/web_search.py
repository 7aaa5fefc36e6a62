"""The web search, through a SearXNG server of the operator or Brave Search.

The APIs are documented at docs.searxng.org/dev/search_api.html and api-dashboard.search.brave.com. Where neither is set
up, or the one set up does not answer, the call fails: there is no such thing as a sample of the web.
"""

from __future__ import annotations

import html
import re
from typing import Annotated, Literal

from httpx2 import AsyncClient
from pydantic import AliasChoices, Field

from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, tool
from backend.tools.fetch import ServiceAnswer, fetch_answer, refused

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
    """Raise `ToolFailed` when no provider is set up, `ServiceUnreachable` when it gives no usable answer."""
    params: dict[str, str | int]
    if settings.searxng_url:
        params = {"q": query, "format": "json", "safesearch": 1}
        url = f"{settings.searxng_url.rstrip('/')}/search"
        found = (await fetch_answer(http, SERVICE, url, _Pages, params)).results
    elif settings.brave_api_key:
        params = {"q": query, "count": count, "safesearch": "moderate"}
        headers = {"X-Subscription-Token": settings.brave_api_key.get_secret_value()}
        url = f"{settings.brave_url.rstrip('/')}/web/search"
        found = (await fetch_answer(http, SERVICE, url, _Brave, params, headers)).web.results
    else:
        raise refused("The web cannot be searched: neither SEARXNG_URL nor BRAVE_API_KEY is set.")
    results = _distinct(found)[:count]
    return Result({"results": results}, citations=tuple(f"{one['title']} ({one['url']})" for one in results))


class _Page(ServiceAnswer):
    title: str = ""
    url: str = ""
    excerpt: str = Field("", validation_alias=AliasChoices("content", "description"))


class _Pages(ServiceAnswer):
    results: list[_Page]


class _Brave(ServiceAnswer):
    type: Literal["search"]
    web: _Pages = _Pages(results=[])  # left out when nothing was found


def _distinct(pages: list[_Page]) -> list[dict[str, str]]:
    """Return title, address and excerpt of each page once, without the markup that highlights matches."""
    found: dict[str, dict[str, str]] = {}
    for page in pages:
        if page.url.startswith(("http://", "https://")):
            shown = {"title": _plain(page.title), "url": page.url, "excerpt": _plain(page.excerpt)[:600]}
            found.setdefault(page.url.rstrip("/"), shown)
    return list(found.values())


def _plain(text: str) -> str:
    return html.unescape(re.sub(r"<[^<>]*>", "", text)).strip()
