"""The weather tool against a server that speaks Open-Meteo's JSON, and against one that does not."""

import json
from typing import Any

import httpx2
import pytest

from backend.errors import ToolFailed
from backend.testing.services import open_meteo
from backend.testing.services.server import Handler, Reply, Request, serving, text_reply
from backend.tools.base import Result
from backend.tools.get_current_weather import get_current_weather
from backend.tools.own_profile import OwnProfile

STRANGER = OwnProfile("", None)


async def weather(location: str, handler: Handler = open_meteo.answering, **arguments: Any) -> Result:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        return await get_current_weather(http, open_meteo.settings_for(server), STRANGER, location, **arguments)


@pytest.mark.document("001", "tools and samples")
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


async def test_the_spoken_text_is_about_now_or_about_the_day_in_question() -> None:
    now = "In Seattle it is 52 degrees Fahrenheit, with light rain; it feels like 48."
    assert (await weather("Seattle")).spoken == now
    tomorrow = "Seattle, Sunday: light rain, between 42 and 52 degrees Fahrenheit. The chance of rain is 90 percent."
    assert (await weather("Seattle", day="tomorrow")).spoken == tomorrow
    friday = (await weather("Seattle", day="Friday")).spoken  # which three days of forecast do not reach
    assert friday.startswith("Seattle, Friday: ")
    for day in ("today", "this evening", "in three weeks", "when the sun shines"):
        assert (await weather("Seattle", day=day)).spoken == now


async def test_the_unit_is_the_local_one_unless_the_call_names_another() -> None:
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
async def test_places_of_one_name_are_distinguished(spoken: str, region: str) -> None:
    assert (await weather(spoken)).data["place"]["region"] == region


@pytest.mark.parametrize("nowhere", ["Atlantis", "Paris, Ohio", "The Lost City Of Atlantis"])
async def test_an_unknown_place_is_an_error_and_nothing_is_made_up(nowhere: str) -> None:
    with pytest.raises(ToolFailed, match="No place") as caught:
        await weather(nowhere)
    assert not caught.value.retryable


def with_current(**changed: Any) -> Handler:
    """A service with other current weather."""

    def handler(request: Request) -> Reply:
        if request.path == "/v1/search":
            return open_meteo.answering(request)
        forecast = open_meteo.forecast(request.query)
        forecast["current"] |= changed
        return text_reply(json.dumps(forecast).replace("Infinity", "1e999"))

    return handler


@pytest.mark.parametrize(
    ("code", "ending"),
    [(2, "and partly cloudy; it"), (0, ", with a clear sky; it"), (61, ", with light rain; it")],
)
async def test_the_sky_has_everyday_words(code: int, ending: str) -> None:
    assert ending in (await weather("Seattle", with_current(weather_code=code))).spoken


@pytest.mark.parametrize(
    "trouble",
    [lambda _: Reply(503), *(with_current(temperature_2m=each) for each in (float("inf"), float("nan"), "warm", None))],
)
async def test_a_failing_service_gives_a_labelled_sample(trouble: Handler) -> None:
    result = await weather("Seattle", trouble)
    assert result.sample and "sample" in result.note and "local_time" not in result.data["current"]
    assert (result.data["place"], result.data["current"]["temperature"]) == ({"name": "Seattle"}, 59)
