"""A logistic classifier that estimates, from the last words and the sentence's grammar, whether a turn is complete.

`features` yields the features of the words ("last:today", "phrases:SVN"); `languages/en_weights.json` has the weight of
each. `scripts/train_completeness.py` learns the weights from the sentences in `tests/turns/caller_sentences.txt`, each
cut where a caller may pause. To improve the estimate, add sentences or a better feature, and train again.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from backend.turns.grammar import LEADS, classes_of, classify, kind_of

_PHRASES = {
    "determiner": "N",
    "quantifier": "N",
    "number": "N",
    "noun": "N",
    "adjective": "J",
    "object": "O",
    "subject": "S",
    "auxiliary": "X",
    "verb": "V",
    "participle": "V",
    "verb in -ing": "G",
    "preposition": "P",
    "conjunction": "C",
    "question word": "Q",
    "time": "T",
    "place": "L",
}
"""The kind of phrase that a word belongs to, by its class; words of all other classes may stand in any phrase."""


_LEARNT = json.loads((Path(__file__).parent / "languages" / "en_weights.json").read_bytes())
"""The weights that `scripts/train_completeness.py` has learned."""
_WEIGHTS: dict[str, float] = _LEARNT["features"]
_TRIGRAM: tuple[float, float, float] = tuple(_LEARNT["trigram"])
"""The factors of the words' score and of the trigram model's log10 probability, and the offset."""


def completeness(words: list[str], sentence_end: float | None = None) -> float:
    """Return the logit that a turn of these words is complete: 0 means even odds, a positive value a likely end.

    `sentence_end` is the log10 probability of a sentence end here, by pocketsphinx's trigram model; None: not known.
    After a number it is ignored, since the model hardly knows sentences that end in "for four".
    """
    score = sum(_WEIGHTS.get(name, 0.0) for name in {"bias", *features(words)})
    if sentence_end is None or classify(words[-1]) == "number":
        return score
    by_words, by_end, offset = _TRIGRAM
    return by_words * score + by_end * max(sentence_end, -3.0) + offset


def features(words: list[str]) -> Iterator[str]:
    """Yield the features of the words (lower case, without punctuation)."""
    classes = classes_of(words)
    opening = next((index for index, word in enumerate(words) if word not in LEADS), len(words) - 1)
    kind = kind_of(words)
    yield f"kind:{kind}"
    yield f"opening:{' '.join(words[opening : opening + 2])}"
    yield f"length:{min(len(words) - opening, 12)}"
    yield f"length:{kind}:{min(len(words) - opening, 8)}"
    yield from _ending(words, classes, kind)
    yield from _structure(classes[opening:], kind)
    yield from _last_verb(words[opening:], classes[opening:], kind)
    for before, (pronoun, subject) in zip(classes, pairwise(words[1:]), strict=False):
        if before == "noun" and pronoun in ("that", "which") and classify(subject) == "subject":
            yield f"relative:{classes[-1]}"  # the last verb has its object already: "a number that I do not have"


def _ending(words: list[str], classes: list[str], kind: str) -> Iterator[str]:
    """Yield the last one to three words and their classes."""
    *_, word_before, word = "", *words
    *_, third, before, last = "start", "start", *classes
    yield f"last:{word}"
    yield f"last:{word_before} {word}"
    yield f"last:{word_before}+{last}"
    yield f"last:{before}+{word}"
    yield f"class:{last}"
    yield f"class:{before}+{last}"
    yield f"class:{third}+{before}+{last}"
    yield f"class:{kind}:{before}+{last}"


def _phrases(classes: Sequence[str]) -> str:
    """Return the kinds of phrases in turn, a letter each: "SVNPN" for "I need a room for two people"."""
    found = ""
    for index, name in enumerate(classes):
        kind = _PHRASES.get(name, "")
        if kind == "J" and (found[-1:] == "N" or _PHRASES.get("".join(classes[index + 1 : index + 2])) == "N"):
            kind = "N"  # an adjective beside a noun belongs to the noun's phrase
        if kind != found[-1:] or kind not in "NXT":
            found += kind
    return found


def _structure(classes: list[str], kind: str) -> Iterator[str]:
    """Yield the last phrases; of a short sentence, yield all."""
    phrases = _phrases(classes)
    yield f"phrases:{phrases[-4:]}"
    yield f"phrases:{kind}:{phrases[-3:]}"
    yield f"all phrases:{phrases}" if len(phrases) < 7 else f"more phrases:{phrases[-5:]}"


def _last_verb(words: list[str], classes: list[str], kind: str) -> Iterator[str]:
    """Yield the last verb, and whether its object has come."""
    verbs = [index for index, name in enumerate(classes) if name in ("verb", "verb in -ing", "participle")]
    if not verbs:
        return
    at = verbs[-1]
    after = _phrases(classes[at + 1 :])[:4]
    yield f"verb:{words[at]}:{after[:2]}"
    yield f"verb:{kind}:{after}"
    yield f"verb:{kind}:{_PHRASES.get(classes[at - 1], '') if at else 'start'}:{after}"
