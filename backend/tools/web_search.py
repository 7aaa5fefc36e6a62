"""The web search, through a SearXNG server of the operator or Brave Search.

The APIs are documented at docs.searxng.org/dev/search_api.html and api-dashboard.search.brave.com. Where neither is set
up, or the one set up does not answer, the call fails: there is no such thing as a sample of the web.
"""

from __future__ import annotations

import html
import re
from typing import Annotated, Literal

from httpx2 import AsyncClient
from pydantic import AfterValidator, AliasChoices, Field

from backend.citations import Citation
from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, first_page, tool
from backend.tools.fetch import ServiceAnswer, fetch_answer, refused

SERVICE = "The web search"


@tool(
    "web_search",
    "Searches the web. Returns titles, addresses and excerpts of the best pages.",
    guidance="Web search: rely on the excerpts, prefer several that agree, and name the sites.",
    clients=OURS | {"copilot"},
    untrusted=True,
    searches="the web",
)
async def web_search(
    http: AsyncClient,
    settings: Settings,
    query: Annotated[str, Field(min_length=1, max_length=400, description="What to search for.")],
    count: Annotated[int, Field(ge=1, le=10, description="How many results.")] = 5,
) -> Result:
    """Raise `ToolFailed` when no provider is set up, `ServiceUnreachable` when it gives no usable answer."""
    params: dict[str, str | int]
    if settings.services.searxng_url:
        params = {"q": query, "format": "json", "safesearch": 1}
        url = f"{settings.services.searxng_url.rstrip('/')}/search"
        found = (await fetch_answer(http, SERVICE, url, _SearchResults, params)).results
    elif settings.services.brave_api_key:
        params = {"q": query, "count": count, "safesearch": "moderate"}
        headers = {"X-Subscription-Token": settings.services.brave_api_key.get_secret_value()}
        url = f"{settings.services.brave_url.rstrip('/')}/web/search"
        found = (await fetch_answer(http, SERVICE, url, _Brave, params, headers)).web.results
    else:
        raise refused("The web cannot be searched: neither SEARXNG_URL nor BRAVE_API_KEY is set.")
    distinct: dict[str, _Page] = {}
    for page in found:
        if page.url.startswith(("http://", "https://")):
            distinct.setdefault(page.url.rstrip("/"), page)
    pages = list(distinct.values())[:count]
    results = [page.model_dump() for page in pages]
    citations = tuple(Citation(page.title or page.url, page.url) for page in pages)
    spoken = first_page([(page.title or page.url, page.excerpt) for page in pages])
    return Result({"results": results}, citations=citations, empty=not pages, spoken=spoken)


Plain = Annotated[str, AfterValidator(lambda text: html.unescape(re.sub(r"<[^<>]*>", "", text)).strip())]
"""Text without the markup that highlights matches."""


class _Page(ServiceAnswer):
    title: Plain = ""
    url: str = ""
    excerpt: Annotated[Plain, AfterValidator(lambda text: text[:600])] = Field(
        "", validation_alias=AliasChoices("content", "description")
    )


class _SearchResults(ServiceAnswer):
    results: list[_Page]


class _Brave(ServiceAnswer):
    type: Literal["search"]
    web: _SearchResults = _SearchResults(results=[])  # left out when nothing was found
