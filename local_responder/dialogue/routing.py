"""Whom a sentence is for: the specialist whose description and examples are nearest to it. Pure but for the vectors.

Nothing here knows any domain. What the specialists say of themselves stands in the instructions, a line each, as the
server's Thinkers write it there (`- weather: for …. Example: “…” “…”`), and their names in the routing tool's schema. A
sentence is compared with each of theirs by vectors, which know that frost is cold, and by the words they share, the
rarer the better, which know names that vectors do not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from local_responder.dialogue.times import TIME
from local_responder.dialogue.vectors import Vectors, encode

UNSURE = 0.9
"""A score below which no specialist is meant in particular; an example's own is over 2."""
BROAD = 0.3
"""Weight of the three nearest sentences together, against the nearest one."""
SHARED = 0.5
"""Weight of shared words, against vectors."""
NAMED = 0.3
"""What it adds that a sentence holds a word of the domain's name."""
TOPICAL = 0.2
"""Weight of the nearest two words of sentence and description."""
_GUIDE = re.compile(
    r"^- (?P<domain>[a-z]\w*): for (?P<description>.*?)\. Example: (?P<examples>“.*”)\s*$", re.MULTILINE
)
_CATCH_ALL = re.compile(r"\banything else\b|\bno other\b|^(?:general )?knowledge$|^general", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z](?=[a-z])[\w.'’-]*")
_WORD = re.compile(r"[a-zA-Z]{2,}")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the an and or of to in on at for is are was be it that this what which who how do does did me my you your "
        "with as by from if not no have has can will would about any there their its one more tell",
    )
)
_PATIENCE = re.compile(
    r"[\s,.;–-]*(?:\band\s+)?\b(?:in the background|take your time|(?:no|there is no|there's no) hurry|"
    r"(?:then )?let me know(?: when (?:you are|you're|it is|it's) (?:done|ready|finished))?(?=\W*$))\b",
    re.IGNORECASE,
)
"""How somebody says that they do not wait for the answer."""


@dataclass(frozen=True, slots=True)
class Specialist:
    """One choice of the routing tool, and what it says of itself."""

    domain: str
    description: str = ""
    examples: tuple[str, ...] = ()

    @property
    def takes_unknown(self) -> bool:
        """Whether it is for whatever is for nobody else."""
        return bool(_CATCH_ALL.search(self.description) or _CATCH_ALL.search(self.domain))

    def sentences(self) -> list[str]:
        """Return what is compared: its name, its examples, and its description part by part."""
        parts = re.split(r"[;,:]\s*", self.description) if self.description else []
        return [self.domain.replace("_", " "), *self.examples, *parts]


@dataclass(frozen=True, slots=True)
class Routing:
    """A tool that takes a domain and a question, with the names its schema gives them."""

    name: str
    domain_field: str
    query_field: str
    specialists: tuple[Specialist, ...]
    background_field: str = ""
    """The flag of a question whose answer is not waited for; empty: there is none."""

    @property
    def domains(self) -> tuple[str, ...]:
        """The names of those who may be asked."""
        return tuple(each.domain for each in self.specialists)

    def arguments(self, domain: str, query: str) -> str:
        """Return the call's JSON."""
        question, patient = without_patience(query)
        values: dict[str, Any] = {self.domain_field: domain, self.query_field: question}
        if patient and self.background_field:
            values[self.background_field] = True
        return json.dumps(values, ensure_ascii=False)


def routing_of(tools: Sequence[Mapping[str, Any]], instructions: str = "") -> Routing | None:
    """Return the first tool with an enumeration to choose from and a text to fill."""
    told = {found["domain"]: found for found in _GUIDE.finditer(instructions)}
    for tool in tools:
        fields: dict[str, Any] = (tool.get("parameters") or {}).get("properties") or {}
        domain = next((name for name, schema in fields.items() if schema.get("enum")), None)
        texts = [name for name, schema in fields.items() if schema.get("type") == "string" and not schema.get("enum")]
        if domain and texts:
            query = "query" if "query" in texts else texts[0]
            flag = "background" if fields.get("background", {}).get("type") == "boolean" else ""
            choices = tuple(_specialist(name, told.get(name)) for name in fields[domain]["enum"])
            return Routing(tool["name"], domain, query, choices, flag)
    return None


def without_patience(words: str) -> tuple[str, bool]:
    """Return the question without "take your time" and its like, and whether it held any of them."""
    plain = _PATIENCE.sub(" ", words)
    if plain == words:
        return words, False
    return re.sub(r"\s+([.,?!])", r"\1", re.sub(r"\s+", " ", plain)).strip(" ,"), True


class Router:
    """Compares sentences with those of some specialists."""

    def __init__(self, specialists: Sequence[Specialist]) -> None:
        self._owners = np.array([each.domain for each in specialists for _ in each.sentences()])
        self._vectors = _vectors([text for each in specialists for text in each.sentences()])
        self._words = {each.domain: words_of(" ".join(each.sentences())) for each in specialists}
        self._names = {each.domain: words_of(each.domain.replace("_", " ")) for each in specialists}
        self._topics = {each.domain: encode(_topics(f"{each.domain} {each.description}")) for each in specialists}
        self._examples = frozenset(_letters(text) for each in specialists for text in each.examples)

    def is_example(self, sentence: str) -> bool:
        """Return whether a specialist gives this very sentence as an example."""
        return _letters(sentence) in self._examples

    def scores(self, sentence: str) -> list[tuple[str, float]]:
        """Return every domain with its score, the best first."""
        near = self._vectors @ _vectors([sentence])[0]
        words, topics, scores = words_of(sentence), encode(_topics(sentence)), dict[str, float]()
        for domain, known in self._words.items():
            nearest = np.sort(near[self._owners == domain])[::-1]
            shared = sum(self._rarity(word) for word in words & known) / (len(words) + 1)
            topical = (topics @ self._topics[domain].T).max()
            named = bool(words & self._names[domain])
            near_enough = nearest[0] + BROAD * nearest[:3].mean()
            scores[domain] = float(near_enough + SHARED * shared + TOPICAL * topical + NAMED * named)
        return sorted(scores.items(), key=lambda each: -each[1])

    def _rarity(self, word: str) -> float:
        """Return how much it tells that a word is shared: the more, the fewer know it."""
        return math.log((len(self._words) + 1) / sum(word in known for known in self._words.values()))


@lru_cache(maxsize=32)
def router_of(specialists: tuple[Specialist, ...]) -> Router:
    """Return the router, whose vectors are computed once for all calls with the same guide."""
    return Router(specialists)


def _specialist(domain: str, told: re.Match[str] | None) -> Specialist:
    if told is None:
        return Specialist(domain)
    return Specialist(domain, told["description"], tuple(re.findall(r"“(.*?)”", told["examples"])))


def _vectors(texts: Sequence[str]) -> Vectors:
    """Return vectors whose product is the nearness of the texts as they are, and of their words that tell something.

    Times and names within them are left out: whose weather it is says nothing about whom to ask.
    """
    plain = [_unnamed(text) for text in texts]
    telling = [" ".join(word for word in re.findall(r"[\w']+", text) if word.lower() not in _COMMON) for text in plain]
    return np.hstack([encode(plain), encode([short or text for short, text in zip(telling, plain, strict=True)])])


def _topics(text: str) -> list[str]:
    """Return its single words that tell something; of none, the text."""
    words = [word.lower() for word in re.findall(r"[a-zA-Z]{3,}", _unnamed(text))]
    return [word for word in words if word not in _COMMON] or [text]


def _unnamed(text: str) -> str:
    return _NAME.sub("", TIME.sub("", text))


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def words_of(text: str) -> frozenset[str]:
    """Return the words that tell something, without their endings."""
    plain = (word.lower() for word in _WORD.findall(TIME.sub("", text)))
    return frozenset(_ENDING.sub("", word) for word in plain if word not in _COMMON)
