"""The weather Thinker gives the weather now and in the coming days, from a live service.

Without a place in the question, the tool uses the user's default location; if that is unknown, the model asks. Users
share answers, except those that rest on a default location. So the Thinker sees neither the conversation nor the
location; the Responder puts a place from the conversation into the question. Places of questions are noted, and the
first becomes the default location of a user who has stated none.
"""

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
        "Do I need an umbrella, a coat or a jacket?",
    ),
    prompt=(
        "You answer questions about the weather. Get the data with get_current_weather; never guess it. "
        "If no place is named, call it without one: it knows the user's default location, or says that you must ask. "
        "If a preferred temperature unit is known, ask the tool for it."
    ),
    tools=("get_current_weather", "remember_preference"),
    cache_ttl_s=600,
    filler="Still checking the forecast.",
    cache_scope="date",
    history_turns=0,
    preferences=("temperature_unit", "time_zone"),
)
