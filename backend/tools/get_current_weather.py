"""The weather now and in the coming days, from Open-Meteo (no key needed).

Two requests: the geocoding API turns a place's name into coordinates, the forecast API gives the weather there.
Documented at open-meteo.com/en/docs and open-meteo.com/en/docs/geocoding-api.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Literal

from httpx2 import AsyncClient
from pydantic import Field, PlainSerializer

from backend.citations import Citation
from backend.errors import BadMoment
from backend.language.dates import parse_days
from backend.settings.settings import Settings
from backend.tools.base import EVERYONE, Json, Result, tool
from backend.tools.fetch import ServiceAnswer, ServiceUnreachable, fetch_answer, refused
from backend.tools.own_profile import OwnProfile
from backend.users.context_update import ContextUpdate

SERVICE = "The weather service"
DAYS = 7
"""The most days of a forecast."""
FAHRENHEIT_COUNTRIES = frozenset({"US", "BS", "BZ", "KY", "PW", "FM", "MH", "LR"})

_CODES = """
0=clear sky, 1=mainly clear, 2=partly cloudy, 3=overcast, 45=fog, 48=freezing fog, 51=light drizzle, 53=drizzle,
55=heavy drizzle, 56=light freezing drizzle, 57=freezing drizzle, 61=light rain, 63=rain, 65=heavy rain,
66=light freezing rain, 67=freezing rain, 71=light snow, 73=snow, 75=heavy snow, 77=snow grains, 80=light showers,
81=showers, 82=violent showers, 85=light snow showers, 86=heavy snow showers, 95=thunderstorm,
96=thunderstorm with light hail, 99=thunderstorm with heavy hail
"""
CONDITIONS = {int(code): words for code, _, words in (pair.strip().partition("=") for pair in _CODES.split(","))}
"""WMO weather interpretation codes, as Open-Meteo documents them."""
_STATES = """
al=alabama, ak=alaska, az=arizona, ar=arkansas, ca=california, co=colorado, ct=connecticut, de=delaware, fl=florida,
ga=georgia, hi=hawaii, id=idaho, il=illinois, in=indiana, ia=iowa, ks=kansas, ky=kentucky, la=louisiana, me=maine,
md=maryland, ma=massachusetts, mi=michigan, mn=minnesota, ms=mississippi, mo=missouri, mt=montana, ne=nebraska,
nv=nevada, nh=new hampshire, nj=new jersey, nm=new mexico, ny=new york, nc=north carolina, nd=north dakota, oh=ohio,
ok=oklahoma, or=oregon, pa=pennsylvania, ri=rhode island, sc=south carolina, sd=south dakota, tn=tennessee, tx=texas,
ut=utah, vt=vermont, va=virginia, wa=washington, wv=west virginia, wi=wisconsin, wy=wyoming, dc=district of columbia
"""
US_STATES = dict(pair.strip().split("=") for pair in _STATES.split(","))
COUNTRIES = {"usa": "us", "u.s.": "us", "america": "us", "uk": "gb", "england": "gb", "great britain": "gb"}
"""Spoken names of countries → ISO country code."""


@tool(
    "get_current_weather",
    "The weather at a place: now, and the forecast by day. Call it for every question about weather.",
    guidance="Weather: name the place, then the temperature and the conditions. For another day than today, "
    "use that day's entry of the daily forecast.",
    clients=EVERYONE,
)
async def get_current_weather(
    http: AsyncClient,
    settings: Settings,
    own: OwnProfile,
    location: Annotated[
        str,
        Field(
            max_length=200,
            description="A place, e.g. 'Seattle' or 'Paris, TX'; left out where the user names none: then it is their "
            "default location.",
        ),
    ] = "",
    unit: Annotated[
        Literal["celsius", "fahrenheit", "local"],
        "The user's temperature unit; 'local' is what people there use.",
    ] = "local",
    days: Annotated[int, Field(ge=1, le=DAYS, description="Days of forecast, today included.")] = 3,
    day: Annotated[
        str, Field(max_length=100, description="The one day that is asked about, e.g. 'Saturday'; empty for now.")
    ] = "",
) -> Result:
    """Return the weather, or a labelled sample without the service. Raises `ToolFailed` for an unknown place."""
    if not (location := location.strip() or (await own.preferences()).default_location):
        raise refused("No place was named, and the user's default location is not known. Ask which place is meant.")
    place: Place | None = None
    try:
        place = await _find_place(http, settings, location)
        unit = _unit_for(unit, place.country_code)
        return _report(place, await _forecast(http, settings, place, unit, DAYS if day else days), unit, day)
    except ServiceUnreachable as error:
        name, country = (place.name, place.country_code) if place else (location, "")
        return _sample(name, _unit_for(unit, country), str(error))


class Place(ServiceAnswer):
    """A place found by the geocoding API."""

    name: str = ""
    latitude: float
    longitude: float
    admin1: str = ""
    admin2: str = ""
    country: str = ""
    country_code: str = ""


class _Places(ServiceAnswer):
    results: tuple[Place, ...] = ()


Rounded = Annotated[float, PlainSerializer(round, return_type=int)]
Conditions = Annotated[int, PlainSerializer(lambda code: CONDITIONS.get(code, "unknown conditions"), return_type=str)]


class _Current(ServiceAnswer):
    local_time: str = Field(alias="time")
    temperature: Rounded = Field(alias="temperature_2m")
    feels_like: Rounded = Field(alias="apparent_temperature")
    conditions: Conditions = Field(alias="weather_code")
    humidity_percent: Rounded = Field(alias="relative_humidity_2m")
    wind_speed: Rounded = Field(alias="wind_speed_10m")
    wind_gusts: Rounded = Field(alias="wind_gusts_10m")
    precipitation: float


class _Daily(ServiceAnswer):
    time: list[date]
    temperature_2m_max: list[Rounded]
    temperature_2m_min: list[Rounded]
    weather_code: list[Conditions]
    precipitation_probability_max: list[float | None]


class _Forecast(ServiceAnswer):
    current: _Current
    daily: _Daily


async def _find_place(http: AsyncClient, settings: Settings, location: str) -> Place:
    for name, qualifiers in readings(location):
        params = {"name": name, "count": 10, "language": "en", "format": "json"}
        found = await fetch_answer(http, SERVICE, settings.services.open_meteo_geocoding_url, _Places, params)
        if place := best_match(found.results, qualifiers):
            return place
    raise refused(f"No place called {location!r} was found. Ask the user which place is meant.")


async def _forecast(http: AsyncClient, settings: Settings, place: Place, unit: str, days: int) -> _Forecast:
    params = {
        "latitude": place.latitude,
        "longitude": place.longitude,
        "current": "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m,"
        "wind_gusts_10m",
        "daily": "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max",
        "temperature_unit": unit,
        "wind_speed_unit": "mph" if unit == "fahrenheit" else "kmh",
        "timezone": "auto",
        "forecast_days": days,
    }
    return await fetch_answer(http, SERVICE, settings.services.open_meteo_forecast_url, _Forecast, params)


def _unit_for(unit: str, country: str) -> Literal["celsius", "fahrenheit"]:
    if unit == "local":
        return "fahrenheit" if country in FAHRENHEIT_COUNTRIES or not country else "celsius"
    return "fahrenheit" if unit == "fahrenheit" else "celsius"


def _report(place: Place, forecast: _Forecast, unit: str, day: str) -> Result:
    names = {"name": place.name, "region": place.admin1, "country": place.country}
    days = zip(*forecast.daily.model_dump().values(), strict=False)
    report = {
        "place": {key: value for key, value in names.items() if value},
        "unit": unit,
        "wind_unit": "miles per hour" if unit == "fahrenheit" else "kilometers per hour",
        "current": forecast.current.model_dump(),
        "daily": [
            {
                "date": each_day.isoformat(),
                "weekday": f"{each_day:%A}",
                "high": high,
                "low": low,
                "conditions": conditions,
                "precipitation_chance_percent": chance,
            }
            for each_day, high, low, conditions, chance in days
        ],
    }
    return Result(
        report,
        spoken=_spoken(report, day),
        citations=(Citation("Open-Meteo", "https://open-meteo.com"),),
        update=ContextUpdate(places=(place.name,)),
    )


def _sample(location: str, unit: str, reason: str) -> Result:
    """Return made-up weather in place of real weather, without dates, so that it never looks current."""
    imperial = unit == "fahrenheit"
    report = {
        "place": {"name": location},
        "unit": unit,
        "wind_unit": "miles per hour" if imperial else "kilometers per hour",
        "current": {
            "temperature": 59 if imperial else 15,
            "feels_like": 57 if imperial else 14,
            "conditions": "partly cloudy",
            "humidity_percent": 70,
            "wind_speed": 6 if imperial else 10,
            "wind_gusts": 11 if imperial else 18,
        },
        "daily": [],
    }
    note = f"This is sample data, not real weather, because: {reason} Say so to the user."
    return Result(report, sample=True, note=note, spoken=_spoken(report))


def _spoken(report: Json, day: str = "") -> str:
    """Return the weather in spoken words: of the requested day if the forecast has it, otherwise of now."""
    name, degrees, now = report["place"]["name"], f"degrees {report['unit'].title()}", report["current"]
    if day and (on := _on(day, report)):
        chance = on["precipitation_chance_percent"]
        rain = f" The chance of rain is {chance:g} percent." if chance is not None else ""
        between = f"between {on['low']} and {on['high']} {degrees}"
        return f"{name}, {on['weekday']}: {on['conditions']}, {between}.{rain}"
    conditions = now["conditions"]
    sky = f", with {'a ' if re.search('(?:sky|thunderstorm)$', conditions) else ''}{conditions}"
    if re.search(r"(?:clear|cloudy|overcast)$", conditions):
        sky = f" and {conditions}"
    feels = f"; it feels like {now['feels_like']}" if now["feels_like"] != now["temperature"] else ""
    return f"In {name} it is {now['temperature']} {degrees}{sky}{feels}."


def _on(day: str, report: Json) -> Json | None:
    """Return the forecast of a later day; None for today and for a day beyond the forecast."""
    now = datetime.fromisoformat(report["current"]["local_time"]).replace(tzinfo=UTC)
    try:
        first, _ = parse_days(day, now, None)
    except BadMoment:
        return None
    return next((each for each in report["daily"][1:] if each["date"] == first.isoformat()[:10]), None)


def readings(location: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the readings of a spoken place, likeliest first: the name to look up, and its qualifiers.

    'Paris, TX' → ('Paris', ('tx',)); 'Seattle Washington' → itself, then ('Seattle', ('washington',)).
    """
    name, *qualifiers = (part.strip() for part in location.split(","))
    if qualifiers or not name:
        return [(name or location.strip(), tuple(part.casefold() for part in qualifiers if part))]
    words = name.split()
    cuts = range(len(words) - 1, 0, -1)[:2]
    shorter = [(" ".join(words[:cut]), (" ".join(words[cut:]).casefold(),)) for cut in cuts]
    return [(name, ()), *shorter]


def best_match(places: Sequence[Place], qualifiers: Sequence[str]) -> Place | None:
    """Return the first place that fits all qualifiers; the service lists the best-known first.

    None when no place fits: a namesake elsewhere is not what was asked for.
    """
    return next((place for place in places if all(_fits(place, qualifier) for qualifier in qualifiers)), None)


def _fits(place: Place, qualifier: str) -> bool:
    names = {name.casefold() for name in (place.admin1, place.admin2, place.country, place.country_code)}
    return bool({qualifier, US_STATES.get(qualifier, ""), COUNTRIES.get(qualifier, "")} & (names - {""}))
