"""The weather tool against a server that speaks Open-Meteo's JSON, and against one that does not."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from backend.errors import ToolFailed
from backend.settings.settings import load_settings
from backend.testing.services import open_meteo
from backend.testing.services.server import Handler, Reply, Request, json_reply, serving, text_reply
from backend.tools.base import Result
from backend.tools.get_current_weather import get_current_weather
from backend.tools.own_profile import OwnProfile

STRANGER = OwnProfile("", None)


async def weather(location: str, handler: Handler = open_meteo.answering, **arguments: Any) -> Result:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        return await get_current_weather(http, open_meteo.settings_for(server), STRANGER, location, **arguments)


async def test_current_weather_and_forecast_come_as_documented() -> None:
    result = await weather("Seattle", days=2)
    assert not result.sample
    assert result.data["place"] == {"name": "Seattle", "region": "Washington", "country": "United States"}
    assert result.data["current"] == {
        "local_time": "2026-11-21T09:15",
        "temperature": 52,
        "feels_like": 48,
        "conditions": "light rain",
        "humidity_percent": 81,
        "wind_speed": 7,
        "wind_gusts": 15,
        "precipitation": 0.1,
    }
    assert result.data["daily"][1] == {
        "date": "2026-11-22",
        "weekday": "Sunday",
        "high": 52,
        "low": 42,
        "conditions": "light rain",
        "precipitation_chance_percent": 90,
    }


async def test_what_is_said_is_of_now_or_of_the_day_that_is_asked_about() -> None:
    now = "In Seattle it is 52 degrees Fahrenheit, with light rain; it feels like 48."
    assert (await weather("Seattle")).spoken == now
    tomorrow = "Seattle, Sunday: light rain, between 42 and 52 degrees Fahrenheit. The chance of rain is 90 percent."
    assert (await weather("Seattle", day="tomorrow")).spoken == tomorrow
    friday = (await weather("Seattle", day="Friday")).spoken  # which three days of forecast do not reach
    assert friday.startswith("Seattle, Friday: ")
    for day in ("today", "this evening", "in three weeks", "when the sun shines"):
        assert (await weather("Seattle", day=day)).spoken == now


@pytest.mark.parametrize(
    ("code", "ending"),
    [(2, "and partly cloudy; it"), (0, ", with a clear sky; it"), (61, ", with light rain; it")],
)
async def test_the_sky_is_said_as_people_say_it(code: int, ending: str) -> None:
    def handler(request: Request) -> Reply:
        if request.path == "/v1/search":
            return open_meteo.answering(request)
        forecast = open_meteo.forecast(request.query)
        forecast["current"]["weather_code"] = code
        return json_reply(forecast)

    assert ending in (await weather("Seattle", handler)).spoken


async def test_the_unit_is_what_people_there_use_unless_asked_for() -> None:
    assert (await weather("Seattle")).data["unit"] == "fahrenheit"
    assert (await weather("London")).data["unit"] == "celsius"
    celsius = await weather("Seattle", unit="celsius")
    assert (celsius.data["unit"], celsius.data["current"]["temperature"]) == ("celsius", 11)


@pytest.mark.parametrize(
    ("spoken", "region"),
    [
        ("Paris", "Île-de-France"),
        ("Paris, TX", "Texas"),
        ("Paris, Texas, USA", "Texas"),
        ("Paris Texas", "Texas"),
        ("Paris, France", "Île-de-France"),
        ("London UK", "England"),
        ("Seattle Washington", "Washington"),
    ],
)
async def test_namesakes_are_distinguished(spoken: str, region: str) -> None:
    assert (await weather(spoken)).data["place"]["region"] == region


@pytest.mark.parametrize("nowhere", ["Atlantis", "Paris, Ohio", "The Lost City Of Atlantis"])
async def test_no_such_place_is_said_and_never_made_up(nowhere: str) -> None:
    with pytest.raises(ToolFailed, match="No place") as caught:
        await weather(nowhere)
    assert not caught.value.retryable


@pytest.mark.parametrize("where", ["/v1/search", "/v1/forecast"])
async def test_trouble_gives_a_sample_that_is_labelled(where: str) -> None:
    result = await weather(
        "Seattle", lambda request: Reply(503) if request.path == where else open_meteo.answering(request)
    )
    assert result.sample
    assert "sample" in result.note
    assert result.data["place"] == {"name": "Seattle"}
    assert "local_time" not in result.data["current"]


async def test_nobody_there_gives_a_labelled_sample() -> None:
    settings = load_settings(_env_file=None, open_meteo_geocoding_url="http://127.0.0.1:9/v1/search")
    async with httpx2.AsyncClient(verify=False) as http:
        result = await get_current_weather(http, settings, STRANGER, "Springville, Utah")
    assert result.sample
    assert (result.data["place"]["name"], result.data["current"]["temperature"]) == ("Springville, Utah", 59)


async def test_a_request_that_is_refused_is_a_failure_and_no_sample() -> None:
    with pytest.raises(ToolFailed, match="refuses"):
        await weather("Seattle", lambda request: json_reply({"error": True, "reason": "no"}, 400))


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), "warm", None])
async def test_a_temperature_that_is_none_gives_a_labelled_sample(wrong: Any) -> None:
    def handler(request: Request) -> Reply:
        if request.path == "/v1/search":
            return open_meteo.answering(request)
        forecast = open_meteo.forecast(request.query)
        forecast["current"]["temperature_2m"] = wrong
        return text_reply(json.dumps(forecast).replace("Infinity", "1e999"))

    assert (await weather("Seattle", handler)).sample
