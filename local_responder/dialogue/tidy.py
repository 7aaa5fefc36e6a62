"""From the recogniser's lower-case words to a sentence one can show: capitals and a full stop. Pure."""

from __future__ import annotations

import re

from local_responder.dialogue.phrases import COMPANIES, COUNTRIES, NAMES
from local_responder.dialogue.places import PLACES

_QUESTION = re.compile(
    r"^(?:what|which|who|where|when|why|how|is|are|am|was|do|does|did|can|could|will|would|should|any|and in)\b"
)
_NAMES = {
    name.lower(): name
    for name in (
        *PLACES,
        *(each.title().replace("The ", "the ") for each in COUNTRIES),
        *(each.title() for each in COMPANIES),
        *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Hamlet", "Macbeth"),
        *("Albert Einstein", "Isaac Newton", "Marie Curie", "Charles Darwin", "William Shakespeare", "Mozart"),
        *("Leonardo da Vinci", "Beethoven", "Picasso", "Napoleon", "Cleopatra", "Abraham Lincoln", "Gandhi", "Mars"),
        *("Nelson Mandela", "Jupiter", "Mount Everest", "Antarctica", "Europe", "Africa", "Asia", "America", "DNA"),
        *("Romeo and Juliet", "War and Peace", "Don Quixote", "Moby Dick", "Frankenstein", "Dracula", "I", "GitHub"),
        *(each.title() for each in NAMES),
    )
}
_ANY_NAME = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True)) + r")\b")


def tidy(words: str) -> str:
    """A written sentence; '' stays ''."""
    if not words:
        return ""
    named = _ANY_NAME.sub(lambda found: _NAMES[found[1]], words)
    mark = "" if named[-1] in ".?!" else "?" if _QUESTION.match(words) else "."
    return named[0].upper() + named[1:] + mark
