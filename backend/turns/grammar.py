"""A little English grammar for transcripts: the class of a word, the kind of a sentence, and values at its end.

The words themselves stand in `languages/en.toml`.
"""

from __future__ import annotations

import re
from itertools import pairwise

from backend.turns.languages import ENGLISH

_CLASSES = ENGLISH.words_by("grammar", "classes")
_CLASS = {word: name for name, words in _CLASSES.items() for word in words}
_VERBS = frozenset(_CLASSES["verb"])
_NUMBER = ENGLISH.pattern("grammar", "number")
LEADS = ENGLISH.words("grammar", "leads")
"""Words before a sentence proper."""
_TOKEN = re.compile(r"[a-z0-9']+(?:[.\-:@_&+]+[a-z0-9']+)*|\+\d+")
_IS = ENGLISH.words("grammar", "is")
_CLAUSE = frozenset(("subject", "auxiliary", "verb", "participle", "verb in -ing"))
"""Classes without which words are no statement."""
_PHRASE = "(determiner |quantifier )?((adjective|number|participle) )*((noun|time|number|adjective) )+"
_VALUE = re.compile(
    r"\b(time |number (adjective )?(noun |time )?|number preposition object "
    rf"|determiner (adjective |number )+(noun |object )?|preposition {_PHRASE})$"
)
"""The classes that a value of the caller ends in: "tuesday", "two pizzas", "five of us", "the red car", "to Rome"."""
_ARRANGING = ENGLISH.words("grammar", "arranging")
"""What "could you" asks to be done, not to be said."""
_NAMING = ENGLISH.words("grammar", "naming")
"""Words before a person's name: "tell Anna", "my name is Martin"."""
_EXPLAINING = ENGLISH.words("grammar", "explaining")
"""Requests to hear something; what they end in is the assistant's to say."""
_TAKEN_BACK = ENGLISH.pattern("grammar", "taken_back")
_SHORT_STATEMENT = 7
"""Words. To wait after each longer statement that ends in a value would make most answers late."""
_ASKING = ENGLISH.words("grammar", "asking")


def words_of(text: str) -> list[str]:
    """Return the words of a transcript in lower case, without punctuation."""
    return _TOKEN.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def last_sentence(text: str) -> list[str]:
    """Return the words of the last sentence, with the one before where the last only goes on with it."""
    sentences = [words for words in map(words_of, re.split(r"[.?!]\s", text)) if words]
    found: list[str] = []
    while sentences and (not found or classify(found[0]) in ("preposition", "conjunction")):
        found = sentences.pop() + found
    return found


def classify(word: str) -> str:
    """Return the grammatical class of a word; "noun" where it is in no list."""
    known = _CLASS.get(word)
    if known is not None:
        return known
    if _NUMBER.search(word):
        return "number"
    if len(word) > 4 and word.endswith("ing"):
        return "verb in -ing"
    if len(word) > 4 and word.endswith("ed"):
        return "participle"
    if word.endswith("ly"):
        return "adverb"
    if word.endswith("s") and word[:-1] in _VERBS:
        return "verb"
    return "noun"


def classes_of(words: list[str]) -> list[str]:
    """Return the class of each word, by what it follows, too: "the order" is a noun, "we smoke" a verb."""
    classes: list[str] = []
    for word in words:
        name, before = classify(word), classes[-1] if classes else ""
        if name == "verb" and before in ("determiner", "adjective", "quantifier"):
            name = "noun"
        elif name == "participle" and before in ("determiner", "quantifier"):
            name = "adjective"
        elif name == "noun" and before == "subject" and _IS.isdisjoint(words[max(0, len(classes) - 2) : len(classes)]):
            name = "verb"
        classes.append(name)
    return classes


def kind_of(words: list[str]) -> str:
    """Return "question", "yes-no question", "request", "statement" or "fragment"."""
    opening = next((index for index, word in enumerate(words) if word not in LEADS), len(words) - 1)
    word, name = words[opening], classify(words[opening])
    if word in _ASKING:
        return "question"
    if name == "auxiliary":
        return "yes-no question"
    if name == "verb":
        return "request"
    if name == "preposition" or opening == len(words) - 1 or _CLAUSE.isdisjoint(classes_of(words[opening:])):
        return "fragment"
    return "statement"


def could_be_corrected(words: list[str]) -> bool:
    """Return whether the words ask for or tell a value that is easily taken back for another of its kind.

    That is a day, a time, a number, a choice or a place, as the end of a request ("book it for tuesday", "could you
    send it to my office") or of a short statement ("i'd like the large one", "the meeting is at two"), or anywhere in
    them a name ("tell anna that i am late"). What was corrected once is right now, and a question holds no value.
    """
    named = _names_somebody(words)
    if not words or _TAKEN_BACK.search(" ".join(words)) or not (named or _VALUE.search(_classes_said(words))):
        return False
    kind = kind_of(words)
    if kind == "yes-no question":
        opening = next((index for index, word in enumerate(words) if word in ("can", "could", "would", "will")), None)
        asked = [] if opening is None else [word for word in words[opening + 1 :] if word not in ("please", "also")]
        return asked[:1] == ["you"] and not _ARRANGING.isdisjoint(asked[1:2])
    if kind == "statement":
        return len(words) <= _SHORT_STATEMENT
    return kind == "request" and (named or _EXPLAINING.isdisjoint(words))


def _names_somebody(words: list[str]) -> bool:
    """Return whether the words hold a person's name, by the word before it."""
    named = pairwise(word for word in words if word != "is")
    return any(before in _NAMING and classify(word) == "noun" for before, word in named)


def _classes_said(words: list[str]) -> str:
    """Return the classes of the words, each with a space behind it; "one" that stands for a noun is an object."""
    classes = classes_of(words)
    for index, word in enumerate(words):
        if word in ("one", "ones") and index and classes[index - 1] != "determiner":
            classes[index] = "object"
    return " ".join(classes) + " "
