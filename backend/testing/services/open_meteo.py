"""Open-Meteo's documented JSON, for a local stand-in of both its APIs."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from backend.settings.settings import Settings, load_settings
from backend.testing.services.server import ApiServer, Reply, Request, json_reply

PLACES: list[dict[str, Any]] = [
    {"name": "Seattle", "admin1": "Washington", "country": "United States", "country_code": "US", "latitude": 47.6},
    {"name": "Paris", "admin1": "Île-de-France", "country": "France", "country_code": "FR", "latitude": 48.9},
    {"name": "Paris", "admin1": "Texas", "country": "United States", "country_code": "US", "latitude": 33.7},
    {"name": "London", "admin1": "England", "country": "United Kingdom", "country_code": "GB", "latitude": 51.5},
]


SATURDAY = date(2026, 11, 21)
"""The day that the stand-in uses by default."""


def geocoding(name: str) -> dict[str, Any]:
    """Return the geocoding API's answer; without matches it leaves `results` out."""
    found = [{"id": 1, "longitude": -1.0, **place} for place in PLACES if place["name"].lower() == name.lower()]
    return {"results": found, "generationtime_ms": 0.5} if found else {"generationtime_ms": 0.5}


def forecast(query: dict[str, str], today: date = SATURDAY) -> dict[str, Any]:
    """Return the forecast API's answer to the fields we ask for."""
    days = int(query["forecast_days"])
    warm = query["temperature_unit"] == "fahrenheit"
    return {
        "latitude": float(query["latitude"]),
        "timezone": "America/Los_Angeles",
        "current": {
            "time": f"{today}T09:15",
            "interval": 900,
            "temperature_2m": 51.6 if warm else 10.9,
            "apparent_temperature": 48.2 if warm else 9.0,
            "relative_humidity_2m": 81,
            "precipitation": 0.1,
            "weather_code": 61,
            "wind_speed_10m": 7.4,
            "wind_gusts_10m": 15.2,
        },
        "daily": {
            "time": [str(today + timedelta(days=day)) for day in range(days)],
            "weather_code": [3, 61, 0, 71, 95, 45, 2][:days],
            "temperature_2m_max": [_degrees(f, warm) for f in (55.4, 52.1, 50.0, 40.2, 41.0, 42.0, 43.0)][:days],
            "temperature_2m_min": [_degrees(f, warm) for f in (44.4, 42.1, 40.0, 30.2, 31.0, 32.0, 33.0)][:days],
            "precipitation_probability_max": [20, 90, 0, 60, None, 10, 5][:days],
        },
    }


def _degrees(fahrenheit: float, warm: bool) -> float:
    return fahrenheit if warm else round((fahrenheit - 32) / 1.8, 1)


def answering(request: Request, today: date = SATURDAY) -> Reply:
    """Answer one request, in good health."""
    if request.path == "/v1/search":
        return json_reply(geocoding(request.query["name"]))
    return json_reply(forecast(request.query, today))


def answering_today(request: Request) -> Reply:
    """Answer as of today, for servers that look at the clock."""
    return answering(request, datetime.now(UTC).date())


def settings_for(server: ApiServer, **overrides: Any) -> Settings:
    """Return settings that point at `server`."""
    return load_settings(
        _env_file=None,
        open_meteo_forecast_url=f"{server.url}/v1/forecast",
        open_meteo_geocoding_url=f"{server.url}/v1/search",
        **overrides,
    )
