"""The few things the demonstration knows by heart. Everything else it honestly does not."""

from __future__ import annotations

import re

CAPITALS = {
    "argentina": "Buenos Aires", "australia": "Canberra", "austria": "Vienna", "brazil": "Brasília", "canada": "Ottawa",
    "chile": "Santiago", "china": "Beijing", "cuba": "Havana", "denmark": "Copenhagen", "egypt": "Cairo",
    "england": "London", "finland": "Helsinki", "france": "Paris", "germany": "Berlin", "greece": "Athens",
    "hungary": "Budapest", "india": "New Delhi", "iran": "Tehran", "iraq": "Baghdad", "ireland": "Dublin",
    "italy": "Rome", "japan": "Tokyo", "kenya": "Nairobi", "mexico": "Mexico City", "new zealand": "Wellington",
    "norway": "Oslo", "peru": "Lima", "poland": "Warsaw", "portugal": "Lisbon", "russia": "Moscow",
    "scotland": "Edinburgh", "spain": "Madrid", "sweden": "Stockholm", "switzerland": "Bern", "thailand": "Bangkok",
    "turkey": "Ankara", "ukraine": "Kyiv", "the united states": "Washington, D.C.", "united kingdom": "London",
}  # fmt: skip
AUTHORS = {
    "hamlet": "William Shakespeare", "macbeth": "William Shakespeare", "romeo and juliet": "William Shakespeare",
    "war and peace": "Leo Tolstoy", "don quixote": "Miguel de Cervantes", "moby dick": "Herman Melville",
    "the odyssey": "Homer, as tradition has it,", "pride and prejudice": "Jane Austen",
    "the great gatsby": "F. Scott Fitzgerald", "nineteen eighty four": "George Orwell", "frankenstein": "Mary Shelley",
    "dracula": "Bram Stoker",
}  # fmt: skip
SUBJECTS: tuple[tuple[str, str], ...] = (
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
    return _capital(plain) or _author(plain) or _subject(plain) or UNKNOWN


def _capital(plain: str) -> str | None:
    match = re.search(r"capital (?:city )?of (.+)$", plain)
    capital = CAPITALS.get(match[1]) if match else None
    return f"The capital of {match[1].title().replace('The ', 'the ')} is {capital}." if match and capital else None


def _author(plain: str) -> str | None:
    match = re.search(r"(?:who wrote|author of) (.+)$", plain)
    author = AUTHORS.get(match[1]) if match else None
    return f"It was {author} who wrote {match[1].title().replace(' And ', ' and ')}." if match and author else None


def _subject(plain: str) -> str | None:
    return next((answer for pattern, answer in SUBJECTS if re.search(pattern, plain)), None)
