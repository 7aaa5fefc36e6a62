"""The questions of the tour: each Thinker's example, or questions from here if the two rounds should differ.

A new Thinker needs no entry: both rounds ask its example.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TYPED = {
    "assistant": (
        "Add lunch with Ana tomorrow at noon.",
        "Make a note to call the plumber tomorrow at nine.",
        "What are my notes?",
        "That's done.",
    ),
    "memory": (
        "Remember that my sister's name is Anna.",
        "What do you know about my sister?",
        "From now on, answer in one sentence.",
        "Forget that.",
    ),
}
SPOKEN = {
    "assistant": ("What's on my calendar tomorrow?", "Cancel lunch with Ana tomorrow.", "Yes."),
    "knowledge": ("Who wrote Hamlet?",),
    "medical": ("What does research say about coffee and sleep?",),
    "memory": ("What do you know about my sister?",),
    "news": ("What's in the news?",),
    "reason": ("Think carefully: what is eighty percent of two hundred?",),
    "research": ("Research electric cars.",),
    "stocks": ("What is the price of Apple stock?",),
    "weather": ("Will it rain in London tomorrow?",),
}
"""The spoken questions. They differ from the typed ones, so that no answer comes from the cache."""


@dataclass(frozen=True, slots=True)
class Step:
    """One question, and the Thinker that should answer it."""

    domain: str
    label: str
    question: str


def steps(thinkers: Sequence[dict[str, Any]], only: Sequence[str], *, by_voice: bool = False) -> list[Step]:
    """Return the questions for the Thinkers in `/api/config`, or for the domains in `only` if there are any."""
    chosen = SPOKEN if by_voice else TYPED
    return [
        Step(thinker["domain"], thinker["label"], question)
        for thinker in thinkers
        if not only or thinker["domain"] in only
        for question in chosen.get(thinker["domain"], (thinker["example"],))
    ]
