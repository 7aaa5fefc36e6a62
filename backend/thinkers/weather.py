"""The weather now and in the coming days, from a live service.

Where no place is named, the tool takes the user's default location; where that is not known either, the model asks.
Answers are shared between users but for those that rest on a default location, so that neither the conversation nor
the location is shown: the Responder's question names the place where the conversation does. A place asked about is
noted, and the first becomes the default location of a user who has stated none.
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
    phrases=(
        "How cold is it outside?",
        "Would I need a warm hat there?",
        "What are conditions like out there?",
        "What's it like outside?",
        "What will it be like there in the evening?",
        "Is it going to snow this weekend?",
        "What will the temperature be on Monday?",
        "Is it windy and cloudy there?",
        "What is the high and the low, is it below zero?",
        "Can I swim or sit outdoors today?",
        "Is it nice out?",
        "What's the weather doing over there?",
        "Tell me tomorrow's weather.",
        "Give me the weather report.",
        "Will it stay dry?",
        "What's the chance of rain?",
        "Are there clouds in the sky?",
        "How many degrees is it?",
        "How warm will it be in the afternoon?",
        "How hot is it there right now?",
        "Is a storm coming?",
        "Could there be hail or lightning?",
        "Will it thunder?",
        "Will the sun come out at the weekend?",
        "What should I put on, is it chilly?",
        "Are shorts fine, or will it be too cold?",
        "Do I need boots or a scarf?",
        "Should I pack a sweater for the trip?",
        "Do I need sunglasses?",
        "Is the air very humid or dry?",
        "How much snow has fallen?",
        "Is there ice on the roads?",
        "Does it freeze at night?",
        "Is it foggy on the coast?",
        "What's the wind like for sailing?",
        "Is it pouring?",
        "When will the rain stop?",
        "Is it a good day for a barbecue?",
        "Can the children play outside this afternoon?",
        "Is it going to be a hot summer day?",
        "When does the sun set there?",
        "We're driving to the mountains, what will the weather be?",
        "I'm going hiking, will it rain?",
        "Should I close the windows, is rain coming?",
        "Is it cold enough for skiing?",
        "What should I wear today?",
        "Should I take a coat?",
    ),
)
