"""A little English grammar for transcripts: the class of a word, the kind of a sentence, and values at its end.

The words themselves stand in `languages/en.toml`.
"""

import re
from itertools import pairwise

from backend.turns.languages import ENGLISH

_CLASSES = ENGLISH.words_by("grammar", "classes")
_CLASS = {word: name for name, words in _CLASSES.items() for word in words}
_VERBS = frozenset(_CLASSES["verb"])
_NUMBER = ENGLISH.pattern("grammar", "number")
LEADS = ENGLISH.words("grammar", "leads")
"""Words that may stand before the sentence itself: "well", "so", "please"."""
_TOKEN = re.compile(r"[a-z0-9']+(?:[.\-:@_&+]+[a-z0-9']+)*|\+\d+")
_IS = ENGLISH.words("grammar", "is")
_CLAUSE = frozenset(("subject", "auxiliary", "verb", "participle", "verb in -ing"))
"""The classes of which a statement must have one."""
_PHRASE = "(determiner |quantifier )?((adjective|number|participle) )*((noun|time|number|adjective) )+"
_VALUE = re.compile(
    r"\b(time |number (adjective )?(noun |time )?|number preposition object "
    rf"|determiner (adjective |number )+(noun |object )?|preposition {_PHRASE})$"
)
"""The classes of a value at the end: "tuesday", "two pizzas", "five of us", "the red car", "to Rome"."""
_ARRANGING = ENGLISH.words("grammar", "arranging")
"""The verbs after "could you" that ask for a deed, not for words."""
_NAMING = ENGLISH.words("grammar", "naming")
"""Words before a person's name: "tell Anna", "my name is Martin"."""
_EXPLAINING = ENGLISH.words("grammar", "explaining")
"""Verbs of requests to hear something, in which the caller gives no value."""
_TAKEN_BACK = ENGLISH.pattern("grammar", "taken_back")
_SHORT_STATEMENT = 7
"""The most words of a statement that could be corrected; a wait after each longer one would make most answers late."""
_ASKING = ENGLISH.words("grammar", "asking")


def words_of(text: str) -> list[str]:
    """Return the words of a transcript in lower case, without punctuation."""
    return _TOKEN.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def last_sentence(text: str) -> list[str]:
    """Return the words of the last sentence, and of the one before if the last only goes on with it."""
    sentences = [words for words in map(words_of, re.split(r"[.?!]\s", text)) if words]
    found: list[str] = []
    while sentences and (not found or classify(found[0]) in ("preposition", "conjunction")):
        found = sentences.pop() + found  # a sentence that begins with "and" or "to" goes on with the one before
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
    """Return the class of each word in its context: "the order" is a noun, "we smoke" a verb."""
    classes: list[str] = []
    for word in words:
        name, before = classify(word), classes[-1] if classes else ""
        if name == "verb" and before in ("determiner", "adjective", "quantifier"):
            name = "noun"
        elif name == "participle" and before in ("determiner", "quantifier"):
            name = "adjective"
        elif name == "noun" and before == "subject" and _IS.isdisjoint(words[max(0, len(classes) - 2) : len(classes)]):
            name = "verb"  # "we smoke", but not "there's anna"
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
        return "fragment"  # "in the morning", "please", "the red one": no clause
    return "statement"


def could_be_corrected(words: list[str]) -> bool:
    """Return whether the words hold a value that the caller may correct: "on tuesday, no, on wednesday".

    The value is a day, a time, a number, a choice or a place at the end of a request ("book it for tuesday", "could you
    send it to my office") or of a short statement ("i'd like the large one", "the meeting is at two"), or a name
    anywhere in them ("tell anna that i am late"). A value that was corrected is right; a question holds none.
    """
    named = _names_somebody(words)
    if not words or _TAKEN_BACK.search(" ".join(words)) or not (named or _VALUE.search(_classes_said(words))):
        return False  # no value, or one that was corrected already
    kind = kind_of(words)
    if kind == "yes-no question":
        opening = next((index for index, word in enumerate(words) if word in ("can", "could", "would", "will")), None)
        asked = [] if opening is None else [word for word in words[opening + 1 :] if word not in ("please", "also")]
        return asked[:1] == ["you"] and not _ARRANGING.isdisjoint(asked[1:2])
    if kind == "statement":
        return len(words) <= _SHORT_STATEMENT
    return kind == "request" and (named or _EXPLAINING.isdisjoint(words))  # "tell me about rome" holds no value


def _names_somebody(words: list[str]) -> bool:
    """Return whether the words hold a person's name, which the word before it shows."""
    named = pairwise(word for word in words if word != "is")
    return any(before in _NAMING and classify(word) == "noun" for before, word in named)


def _classes_said(words: list[str]) -> str:
    """Return the classes of the words, each followed by a space; "one" in place of a noun is an object."""
    classes = classes_of(words)
    for index, word in enumerate(words):
        if word in ("one", "ones") and index and classes[index - 1] != "determiner":
            classes[index] = "object"  # "the blue one"
    return " ".join(classes) + " "
