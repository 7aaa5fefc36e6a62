"""Small talk: the remarks that the Responder answers itself, immediately and briefly. Pure.

A kind is recognised by its pattern, or because its examples are nearer to the sentence than those of all others.
"""

import re
import tomllib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from backend.extensions.local.dialogue import wording
from backend.extensions.local.dialogue.routing import Specialist


class Talk(StrEnum):
    """The remarks that are no question for a Thinker; `OTHER` is a statement that calls for no facts."""

    NOTHING = "nothing"
    HOW_ARE_YOU = "how_are_you"
    WHO = "who"
    ABILITIES = "abilities"
    TIME = "time"
    DATE = "date"
    REPEAT = "repeat"
    JOKE = "joke"
    NO = "no"
    THANKS = "thanks"
    GOODBYE = "goodbye"
    STOP = "stop"
    YES = "yes"
    OTHERS = "others"
    GREETING = "greeting"
    OTHER = "other"


_PATTERNS: dict[Talk, str] = {
    Talk.TIME: r"\bwhat time is it\b(?! in)|\bwhat(?:'s| is) the time\b(?! (?:in|difference))",
    Talk.NO: r"^no\b(?!.*\bwhat\b)|^nope\b",
    Talk.THANKS: r"\bthank(?:s| you)\b",
    Talk.GOODBYE: r"\b(?:good)?bye\b|\bsee you\b|\bhang up\b|\bgood ?night\W*$",
    Talk.STOP: (
        r"^(?:please )?(?:stop|wait|quiet|be quiet|shut up|enough|hold on|never mind)\b"
        r"(?!.*\b(?:research|work|search|reminder))|"
        r"^(?:please )?cancel\b(?: that| it| please)*\W*$"
    ),
    Talk.YES: r"^(?:yes|yeah|yep|sure|okay|ok|right|of course)\b\W*(?:please)?\W*$",
}
"""Patterns of the kinds with words that other sentences share; the first that fits counts."""
_DEFINED: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""The examples and answers of the kinds."""
SPECIALISTS = tuple(
    Specialist(kind, examples=tuple(defined["examples"])) for kind, defined in _DEFINED.items() if "examples" in defined
)
"""The kinds as specialists, to be compared with those that may be asked."""


def talk_of(plain: str) -> Talk | None:
    """Return the kind with a pattern that fits a sentence in lower case."""
    return next((kind for kind, pattern in _PATTERNS.items() if re.search(pattern, plain)), None)


def answer(kind: Talk, turn: int, now: datetime, last_said: str, specialists: Sequence[Specialist]) -> str:
    """Return the answer to small talk in turn number `turn`; `specialists` are those that may be asked."""
    words = wording.pick(_DEFINED[kind]["answers"], turn)
    said = last_said or "I have not said anything yet."
    return words.format(now=now, said=said, abilities=abilities(specialists), smarter=wording.SMARTER)


def abilities(specialists: Sequence[Specialist]) -> str:
    """Return the abilities in words: what is computed here, the names of the specialists, and an example."""
    names = [each.domain.replace("_", " ") for each in specialists]
    example = next((each.examples[0] for each in reversed(specialists) if each.examples), "")
    asks = f" You can ask me for {wording.joined(names, 'or')}" if names else ""
    such_as = f", for example: {example}" if example else "." if names else ""
    return f"I can do sums, convert units and tell the time.{asks}{such_as}"
