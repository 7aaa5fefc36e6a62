"""The detector of completeness by words: a logistic classifier over a few grammatical features.

`features` names what is true of the words ("last:noun", "wants time:False"); `WEIGHTS` says how much each speaks for a
complete turn. The weights come from `scripts/train_completeness.py`, which learns them from the callers' sentences in
`tests/conversation/caller_sentences.txt`, each cut where a caller may pause. The classifier is worth what its features
are: to judge better, name a better feature and train again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from backend.conversation.detectors._word_weights import TRIGRAM, WEIGHTS
from backend.conversation.grammar import LEADS, classify, kind_of, last_sentence
from backend.conversation.patience import PauseContext


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WANTS = {
    "time": "book reserve schedule arrange appointment reservation table alarm timer meeting",
    "to": "transfer connect move switch increase translate flight ticket train directions forward reply message from",
    "of": "name copy price cost balance difference kind sort type lot couple pair part rest date end list number",
    "about": "question information complaint story tell problem issue news",
    "matter": "remind ask help explain weather capital wondering calling looking",
}
"""Words that leave a complement open, by its kind; `_MEETS` has the words that meet it."""
_MEETS = {
    "time": _set("at for on in tonight tomorrow today"),
    "to": _set("to into through with"),
    "of": _set("of between for on is in from"),
    "about": _set("about with me that what if on"),
    "matter": _set("to about with of me in how what if for"),
}
_WANTED = {word: kind for kind, words in _WANTS.items() for word in words.split()}
_PLAIN = _set(
    """stop pause close open lock unlock print skip repeat answer confirm continue cancel save dim start call check read
    play show turn delete remove unlock renew block explain resend lower"""
)
"""Verbs of requests that need no more than an object, if that."""
_BREAKS = _set("that whether if because when where who but while what how which")
_ASKED = [["can", "you"], ["could", "you"], ["would", "you"], ["will", "you"]]
_BE = _set("is are was were am isn't aren't")
_PRONOUNS = _set("it that this there he she they you we i")


def log_odds(context: PauseContext) -> float:
    """Return the log odds that the turn is complete; 0 without words."""
    words = last_sentence(context.words or "")
    return completeness(words, context.sentence_end) if words else 0.0


def completeness(words: list[str], sentence_end: float | None = None) -> float:
    """Return the logit that a turn of these words is complete: 0 is even odds, positive rather complete.

    `sentence_end`: log10 probability of a sentence end here, by pocketsphinx's trigram model; None: not known.
    """
    score = sum(WEIGHTS.get(name, 0.0) for name in {"bias", *features(words)})
    if sentence_end is None:
        return score
    by_words, by_end, offset = TRIGRAM
    return by_words * score + by_end * max(sentence_end, -3.0) + offset


def features(words: list[str]) -> Iterator[str]:
    """Yield what is true of the words (lower case, without punctuation)."""
    classes = [classify(word) for word in words]
    last, before = classes[-1], classes[-2] if len(classes) > 1 else "start"
    opening = next((index for index, word in enumerate(words) if word not in LEADS), len(words) - 1)
    kind = kind_of(words)
    yield f"kind:{kind}"
    yield f"last:{last}"
    yield f"last word:{words[-1]}"
    yield f"last:{before}+{last}"
    yield f"length:{min(len(words) - opening, 10) // 2 * 2}"
    yield f"length:{kind}:{len(words) - opening > 5}"
    inner = opening + 2 if words[opening : opening + 2] in _ASKED else opening
    if inner < len(words) and words[inner] in _PLAIN:
        yield f"plain request:{len(words) - inner > 2}"
    if words[opening] in ("where", "why", "who", "where's", "who's"):
        yield f"short question:{len(words) - opening > 2}"
    prepositions = [index for index, name in enumerate(classes) if name == "preposition" and index < len(words) - 1]
    governed = bool(prepositions) and len(words) - prepositions[-1] <= 4
    yield f"prepositions:{min(len(prepositions), 3)}"
    if governed:
        yield f"under preposition:{kind}"
    for index, word in enumerate(words):
        wanted = _WANTED.get(word)
        if wanted:
            after = words[index + 1 :]
            met = any(other in _MEETS[wanted] or (wanted == "time" and classify(other) == "time") for other in after)
            yield f"wants {wanted}:{met}"
            if not after:
                yield "wants a complement at once"
    if "time" in classes:
        yield f"time:{kind}"
    clause = next((index + 1 for index in range(len(words) - 1, -1, -1) if words[index] in _BREAKS), opening)
    if not any(_is_verb(words[index], classes[index]) for index in range(clause, len(words))):
        yield f"no verb:{clause > opening}:{kind}"
    if words[opening] in _BE and not _has_predicate(words[opening + 1 :], classes[opening + 1 :]):
        yield "no predicate"
    if "question" in kind:
        yield from _asking(words[opening:], classes[opening:])
    if _DEPENDENT.search(" ".join(words)):
        yield f"dependent clause:{len(words) > 7}"
    if any(pair == ("conjunction", "subject") for pair in pairwise(classes)):
        yield "second clause"
    for index in range(2, len(words)):
        if classes[index] == "determiner" and classes[index - 1] == "noun" and "and" not in words[index:]:
            yield "list"


_DEPENDENT = re.compile(r"^(and |but |so |well )?(if|when|because|after|before|since|once|while|for my|as)\b")


def _asking(words: list[str], classes: list[str]) -> Iterator[str]:
    """Yield how far a question's parts are there: its auxiliary, its verb, and what it ends in."""
    start = classes[0] == "auxiliary"
    at = next((index for index, name in enumerate(classes) if name == "auxiliary"), None)
    if at is None:
        form = "contracted" if "'s" in words[0] or words[0] == "whats" else "bare"
        at = 0
    else:
        form = ("be" if words[at] in _BE else "do") if start else ("what be" if words[at] in _BE else "what do")
    after = classes[at + 1 :]
    verb = any(name in ("verb", "verb in -ing", "participle", "adjective") for name in after[1:])
    end = "noun" if classes[-1] == "noun" else "preposition" if classes[-1] == "preposition" else classes[-1]
    yield f"ask {form}:{verb}"
    yield f"ask {form}:{verb}:{end}"
    if form in ("what be", "contracted") and words[-1] in _WANTED:
        yield "ask for the what of what"


def _is_verb(word: str, name: str) -> bool:
    return name in ("verb", "auxiliary", "participle") or (name == "subject" and "'" in word)


def _has_predicate(words: list[str], classes: list[str]) -> bool:
    if words and words[0] in _PRONOUNS:
        return len(words) > 1
    return any(name in ("adjective", "participle", "verb in -ing", "place", "verb", "particle") for name in classes[1:])
