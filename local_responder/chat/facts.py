"""The few things the local Responder knows by heart. Everything else it honestly does not."""

from __future__ import annotations

import re

_CAPITALS = {
    "australia": "Canberra", "austria": "Vienna", "brazil": "Brasília", "canada": "Ottawa", "china": "Beijing",
    "egypt": "Cairo", "england": "London", "france": "Paris", "germany": "Berlin", "greece": "Athens",
    "india": "New Delhi", "ireland": "Dublin", "italy": "Rome", "japan": "Tokyo", "mexico": "Mexico City",
    "poland": "Warsaw", "portugal": "Lisbon", "scotland": "Edinburgh", "spain": "Madrid", "sweden": "Stockholm",
    "switzerland": "Bern", "the united states": "Washington, D.C.", "turkey": "Ankara", "ukraine": "Kyiv",
}  # fmt: skip
_SUBJECTS: tuple[tuple[str, str], ...] = (
    *(
        (rf"capital (?:city )?of {land}$", f"The capital of {land.title().replace('The ', 'the ')} is {city}.")
        for land, city in _CAPITALS.items()
    ),
    (r"who wrote hamlet|author of hamlet", "It was William Shakespeare who wrote Hamlet."),
    (r"who wrote don quixote|author of don quixote", "It was Miguel de Cervantes who wrote Don Quixote."),
    (r"who wrote moby dick|author of moby dick", "It was Herman Melville who wrote Moby Dick."),
    (r"sky\b.*\bblue|blue\b.*\bsky", "The sky is blue because air scatters blue light much more than red light."),
    (r"far\b.*\bmoon", "The moon is about 384,000 kilometers away, or 239,000 miles."),
    (r"far\b.*\bsun", "The sun is about 150 million kilometers away, or 93 million miles."),
    (r"old\b.*\buniverse", "The universe is about 13.8 billion years old."),
    (r"how many planets", "There are eight planets in the solar system."),
    (r"black holes?", "A black hole is a place where gravity is so strong that not even light can get out."),
    (r"photosynthesis", "Photosynthesis is how plants make sugar and oxygen out of light, water and carbon dioxide."),
    (r"speed of light", "Light travels at about 300,000 kilometers, or 186,000 miles, per second."),
    (r"mount everest", "Mount Everest, at 8,849 meters, is the highest mountain above the sea."),
    (r"\bgravity", "Gravity is the pull that everything with mass has on everything else."),
    (r"rainbow", "A rainbow is sunlight, bent and split into its colors by drops of rain."),
    (r"\bparis\b", "Paris is the capital of France, on the river Seine, known for the Eiffel Tower and the Louvre."),
    (r"\blondon\b", "London is the capital of the United Kingdom, on the river Thames."),
    (r"\bjupiter\b", "Jupiter is the largest planet of the solar system; a thousand Earths would fit into it."),
    (r"\bdinosaurs?\b", "Dinosaurs ruled the land until 66 million years ago; the birds are what is left of them."),
    (r"\bdna\b", "DNA is the long molecule that carries the building plan of a living thing."),
)
UNKNOWN = (
    "I know only a few things by heart, and this is not one of them. You can ask me for the weather, the news or your "
    "calendar, for example; with LOCAL_MODEL_URL or OPENAI_API_KEY set, a language model would answer."
)


def recall(sentence: str) -> str:
    """The answer to a general question, or the honest statement that there is none.

    Only the first line counts: what follows it is material, not the question.
    """
    plain = sentence.strip().partition("\n")[0].lower().strip(" ?.!")
    return next((answer for pattern, answer in _SUBJECTS if re.search(pattern, plain)), UNKNOWN)
