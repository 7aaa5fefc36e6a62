"""The router finds the specialist for a sentence by descriptions and examples like it. Pure except for the vectors.

Nothing here knows any domain. The schema of the tool that asks the specialists has a description and examples for
each. A sentence is compared with all of them by vectors, which know that frost is cold, and by shared phrases, which
know that "where is my" asks for something said before.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.extensions.local.dialogue.times import TIME
from backend.extensions.local.dialogue.vectors import Vectors, encode
from backend.extensions.local.runs import Runs

UNSURE = -0.7
"""The score below which no specialist is meant in particular. An own sentence scores near 1, any other near -1."""
PLAIN = -0.5
"""The score from which a sentence is small talk."""
LIKELY = 0.3
"""The score from which a sentence that asks nothing is a question for the general specialist."""
ASIDE = 0.0
"""The score from which a sentence is for another person in the room: high, so that no question goes unanswered."""
NAMED = 0.2
"""The bonus for a sentence with a word of the domain's name."""
SURENESS, WORDING = 1.0, 0.4
"""The weights of a transcript's specialist and of its word order; the sound counts 1."""
STRANGE, NEUTRAL = -9.0, -5.0
"""Logarithms of a word's probability: a lower one counts as the first; the second counts neither for nor against."""
SHRINKAGE = 0.1
"""The regularisation: a lower one fits each sentence, and a higher one fits what the sentences share."""
_NAME = re.compile(r"(?<=[\w,;:] )(?!I\b)[A-Z](?=[a-z])[\w.'’-]*")
_SHORTENED = re.compile(r"\b(what|how|who|where|when|that|there|it|here)['’]s\b", re.IGNORECASE)
_WORD = re.compile(r"[a-zA-Z]{2,}")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the an and or of to in on at for is are was be it that this what which who how do does did me my you your "
        "with as by from if not no have has can will would about any there their its one more tell",
    )
)


@dataclass(frozen=True, slots=True)
class Specialist:
    """One of several choices, with its description and examples."""

    domain: str
    description: str = ""
    examples: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """Return the texts that are compared: its name, its examples, and its description part by part."""
        parts = re.split(r"[;,:]\s*", self.description) if self.description else []
        return [self.domain.replace("_", " "), *self.examples, *parts]


@dataclass(frozen=True, slots=True)
class Routing:
    """A tool that takes a question for one of several specialists, which its schema describes."""

    name: str
    domain_field: str
    query_field: str
    specialists: tuple[Specialist, ...]
    general: str = ""
    """The specialist for questions that no other takes; empty: none."""
    flags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The boolean fields of the tool, each with the words that its description quotes."""

    def arguments(self, domain: str, query: str) -> str:
        """Return the call's arguments as JSON. Words that only set a flag are no part of the question."""
        values: dict[str, Any] = {self.domain_field: domain}
        for name, said in self.flags:
            left = re.sub(
                rf"[\s,.;–-]*(?:\band\s+)?\b(?:{'|'.join(map(re.escape, said))})\b{_UNTIL}", "", query, flags=re.I
            )
            if said and left != query and _WORD.search(left):  # a question is left without the flag's words
                query, values[name] = left, True
        return json.dumps({**values, self.query_field: query}, ensure_ascii=False)


_UNTIL = r"(?: when (?:you are|you're|it is|it's) (?:done|ready|finished))?(?=\W*$)"


def routing_of(tools: Sequence[Mapping[str, Any]]) -> Routing | None:
    """Return the first tool with a text field, and with choices that its schema describes; None if there is none."""
    for tool in tools:
        fields: dict[str, Any] = (tool.get("parameters") or {}).get("properties") or {}
        domain = next((name for name, schema in fields.items() if schema.get("oneOf")), None)
        texts = [name for name, schema in fields.items() if schema.get("type") == "string" and name != domain]
        if domain and texts:
            query = "query" if "query" in texts else texts[0]
            choices = tuple(_specialist(each) for each in fields[domain]["oneOf"])
            flags = [(name, _quoted(each)) for name, each in fields.items() if each.get("type") == "boolean"]
            general = fields[domain].get("default", "")
            return Routing(tool["name"], domain, query, choices, general, tuple(flags))
    return None


class Router:
    """Learns the specialists' sentences, and finds the specialist of any other, by kernel ridge regression.

    The likeness of two sentences is half by their vectors and half by the words and phrases that they share, squared: a
    near sentence counts for far more than many distant ones.
    """

    def __init__(self, specialists: Sequence[Specialist]) -> None:
        owned = [(each.domain, sentence) for each in specialists for sentence in each.sentences()]
        self._domains = list(dict.fromkeys(domain for domain, _ in owned))
        self._names = [words_of(domain.replace("_", " ")) for domain in self._domains]
        self._examples = frozenset(_letters(text) for each in specialists for text in each.examples)
        self._vectors = _vectors([text for _, text in owned])
        self._phrases = Phrases([text for _, text in owned])
        owners = np.array([self._domains.index(domain) for domain, _ in owned])
        counts = np.bincount(owners)
        alike = _sharpened(self._vectors @ self._vectors.T + self._phrases.among())
        # a specialist with few sentences gets more weight for each
        alike[np.diag_indices_from(alike)] += SHRINKAGE * np.sqrt(counts[owners] * len(counts) / len(owned))
        self._weights = np.linalg.solve(alike, 2.0 * (owners[:, None] == np.arange(len(counts))) - 1)
        self._runs = Runs(_words(text) for each in specialists for text in each.examples)

    def is_example(self, sentence: str) -> bool:
        """Return whether a specialist gives this very sentence as an example."""
        return _letters(sentence) in self._examples

    def scores(self, sentence: str) -> list[tuple[str, float]]:
        """Return all domains with their scores, the best first."""
        alike = _sharpened(self._vectors @ _vectors([sentence])[0] + self._phrases.shared(sentence))
        words = words_of(sentence)
        named = np.array([bool(words & name) for name in self._names])
        scores = (alike @ self._weights + NAMED * named).tolist()
        return sorted(zip(self._domains, scores, strict=True), key=lambda each: -each[1])

    def likeliest(self, heard: Sequence[tuple[str, float]]) -> str:
        """Return the likeliest of several transcripts; each comes with the logarithm of its probability by its sound.

        A transcript that surely fits a specialist, with runs of words from its examples, counts for more.
        """
        return max(heard, key=lambda each: each[1] + self._fit(each[0]))[0]

    def _fit(self, sentence: str) -> float:
        words = _words(sentence)
        likelihoods = (self._runs.likelihood(words[:at], words[at]) for at in range(1, len(words) - 1))
        wording = sum(max(STRANGE, likelihood) - NEUTRAL for likelihood in likelihoods)
        return SURENESS * self.scores(sentence)[0][1] + WORDING * wording


class Phrases:
    """The share of common words, pairs and triples of words among sentences, by tf-idf and cosine. Pure."""

    def __init__(self, texts: Sequence[str]) -> None:
        found = [_phrases(text) for text in texts]
        known = Counter(phrase for each in found for phrase in each)
        self._texts = tuple(texts)
        self._rarity = {phrase: math.log(1 + len(texts) / count) for phrase, count in known.items()}
        self._unknown = math.log(1 + len(texts))
        self._holders: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        weighed: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, phrases in enumerate(found):
            for phrase, weight in self._weighed(phrases):
                weighed[phrase].append((at, weight))
        for phrase, holders in weighed.items():
            self._holders[phrase] = (np.array([at for at, _ in holders]), np.array([weight for _, weight in holders]))

    def among(self) -> NDArray[np.float64]:
        """Return the share that each of the texts has in common with each."""
        return np.array([self.shared(text) for text in self._texts])

    def shared(self, text: str) -> NDArray[np.float64]:
        """Return the share that a text has in common with each of them."""
        shared = np.zeros(len(self._texts))
        for phrase, weight in self._weighed(_phrases(text)):
            if phrase in self._holders:
                at, weights = self._holders[phrase]
                shared[at] += weight * weights
        return shared

    def _weighed(self, phrases: frozenset[str]) -> list[tuple[str, float]]:
        """Return phrases with their weights; rarer ones weigh more, and the squares add up to one."""
        weights = {phrase: self._rarity.get(phrase, self._unknown) for phrase in phrases}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        return [(phrase, weight / length) for phrase, weight in weights.items()]


@lru_cache(maxsize=32)
def router_of(specialists: tuple[Specialist, ...]) -> Router:
    """Return the router; its vectors are computed once for all calls with the same guide."""
    return Router(specialists)


def _quoted(schema: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(re.findall("“(.*?)”", str(schema.get("description", ""))))


def _specialist(described: Mapping[str, Any]) -> Specialist:
    return Specialist(str(described["const"]), described.get("description", ""), tuple(described.get("examples", ())))


def _sharpened(alike: NDArray[Any]) -> NDArray[np.float64]:
    """Return the similarity of sentences by the sum of two cosines, without the little that all sentences share."""
    half = np.asarray(alike, np.float64) / 2
    return half * np.abs(half) + 0.1


def _vectors(texts: Sequence[str]) -> Vectors:
    """Return the vectors of the texts without times and names, which say nothing about the specialist to ask."""
    return encode([_NAME.sub("", TIME.sub("", _SHORTENED.sub(r"\1 is", text))) for text in texts])


def _phrases(text: str) -> frozenset[str]:
    """Return the text's words, and all pairs and triples of words."""
    words = _words(text)
    return frozenset(" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1))


def _words(text: str) -> list[str]:
    """Return the text's words without endings, between start and end marks; a name or a time is one word."""
    plain = _NAME.sub(" _name ", TIME.sub(" _time ", text)).lower().replace("’", "'").replace("'s ", " is ")
    return ["^", *(_ENDING.sub("", word) for word in re.findall(r"[\w']+", plain)), "$"]


def _letters(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def words_of(text: str) -> frozenset[str]:
    """Return the text's words with a meaning of their own, without endings."""
    plain = (word.lower() for word in _WORD.findall(TIME.sub("", text)))
    return frozenset(_ENDING.sub("", word) for word in plain if word not in _COMMON)
