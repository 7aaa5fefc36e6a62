"""Every service behind one address, and the settings that point at it.

An extension that asks a service of its own has a module `stand_in` with a function `as_service`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from backend.testing.extension_modules import modules_named
from backend.testing.services import finnhub, newsapi, open_meteo, search_apis
from backend.testing.services.server import Reply, Request

SERVICES = {
    "weather": open_meteo.answering_today,
    "stocks": finnhub.answering,
    "news": newsapi.answering,
    "web": search_apis.searxng,
}
"""The stand-ins of the core, by the first part of the path."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """The stand-in of a service that an extension uses."""

    name: str
    """The first part of the path."""
    answering: Callable[[Request], Reply]
    settings: Callable[[str], dict[str, str]]
    """The stand-in's address → the extension's settings that point at it: names of variables in small letters."""


def every_service(request: Request) -> Reply:
    """Answer for all services, by the first part of the path."""
    prefix, _, rest = request.path.removeprefix("/").partition("/")
    request.path = f"/{rest}"
    return (SERVICES | {each.name: each.answering for each in stand_ins()})[prefix](request)


def pointing_at(url: str) -> dict[str, str]:
    """Return the settings that make the tools ask the stand-ins at `url`."""
    settings = {
        "open_meteo_forecast_url": f"{url}/weather/v1/forecast",
        "open_meteo_geocoding_url": f"{url}/weather/v1/search",
        "finnhub_url": f"{url}/stocks",
        "finnhub_api_key": finnhub.KEY,
        "newsapi_url": f"{url}/news",
        "newsapi_api_key": newsapi.KEY,
        "searxng_url": f"{url}/web",
    }
    for each in stand_ins():
        settings |= each.settings(f"{url}/{each.name}")
    return settings


@cache
def stand_ins() -> tuple[StandIn, ...]:
    """Return the stand-ins of the installed extensions, each made once."""
    return tuple(module.as_service() for module in modules_named("stand_in"))
