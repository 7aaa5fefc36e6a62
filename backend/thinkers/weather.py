"""The weather now and in the coming days, from a live service.

Where no place is named, the user's default location stands in; where that is not known either, the model asks. The
answer also uses the user's temperature unit, so an answer made with either is kept for that user alone.
"""

from __future__ import annotations

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="weather",
    label="Weather",
    description=(
        "weather now or in the coming days, anywhere: temperature, sunshine, rain, showers, snow, frost, fog, "
        "wind, humidity, storms, forecast, what to wear"
    ),
    example="What's the weather in Seattle?",
    examples=(
        "Will it rain tomorrow?",
        "How cold is it outside?",
        "Do I need an umbrella, a coat or a jacket?",
        "Is it going to snow this weekend?",
        "What will the temperature be on Monday?",
        "Is it windy and cloudy there?",
        "What is the high and the low, is it below zero?",
        "Can I swim or sit outdoors today?",
    ),
    prompt=(
        "You answer questions about the weather. Get the data with get_current_weather; never guess it. "
        "If no place is named, use the user's default location if it is known, and otherwise ask which place is meant. "
        "If a preferred temperature unit is known, ask the tool for it."
    ),
    tools=("get_current_weather", "remember_preference"),
    cache_ttl_s=600,
    filler="Still checking the forecast.",
    preferences=("default_location", "temperature_unit", "time_zone"),
)
