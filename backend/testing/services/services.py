"""Every service behind one address, and the settings that point at it."""

from __future__ import annotations

from typing import Any

from backend.testing.services import finnhub, github, newsapi, open_meteo, search_apis
from backend.testing.services.server import Reply, Request

SERVICES = {
    "weather": open_meteo.answering_today,
    "stocks": finnhub.answering,
    "news": newsapi.answering,
    "web": search_apis.searxng,
    "pubmed": search_apis.pubmed,
    "github": github.seeded().answering,
}
"""By the first part of the path."""


def every_service(request: Request) -> Reply:
    """All of them, by the first part of the path."""
    prefix, _, rest = request.path.removeprefix("/").partition("/")
    request.path = f"/{rest}"
    return SERVICES[prefix](request)


def pointing_at(url: str) -> dict[str, Any]:
    """The settings that make the tools ask the stand-ins at `url`."""
    return {
        "open_meteo_forecast_url": f"{url}/weather/v1/forecast",
        "open_meteo_geocoding_url": f"{url}/weather/v1/search",
        "finnhub_url": f"{url}/stocks",
        "finnhub_api_key": finnhub.KEY,
        "newsapi_url": f"{url}/news",
        "newsapi_api_key": newsapi.KEY,
        "searxng_url": f"{url}/web",
        "ncbi_url": f"{url}/pubmed",
        "github": {"base_url": f"{url}/github", "token": github.TOKEN, "repo": github.REPO},
    }
