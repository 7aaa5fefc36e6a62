"""The kinds of short utterances, by their words alone. Pure.

While a reply plays, "yeah" agrees with it and "wait" ends it, and both last half a second: duration cannot distinguish
them, words can. `kind_of` serves every source of words: an extension's utterance classifier, which has a grammar made
of this table, and a provider's transcript.

To teach the server a phrase, add it to `utterances` in `languages/en.toml`. An utterance has a kind when phrases of
the table cover it from its first word to its last ("yeah, okay", "no no, stop"); one word that no phrase covers makes
it `OTHER` ("okay but why"). Where phrases of several kinds meet, the first kind in this order counts: `OTHER`,
`COMMAND`, `AGREEMENT`, `HESITATION`.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache

from backend.turns.languages import ENGLISH


class UtteranceKind(StrEnum):
    """The kinds of short utterances: a reply that is playing reacts differently to each."""

    AGREEMENT = "agreement"
    """A backchannel ("yeah", "I see", "mm-hmm"): the listener follows and wants to hear more."""
    COMMAND = "command"
    """A word that asks for the floor, or for quiet ("stop", "wait", "no", "excuse me")."""
    HESITATION = "hesitation"
    """A filled pause ("um", "well"): the caller thinks, and has not contributed yet."""
    NOISE = "noise"
    """No words: a cough, a laugh, a breath, a door."""
    OTHER = "other"
    """Real words that are none of these, or that are in doubt."""


_PRECEDENCE = (UtteranceKind.OTHER, UtteranceKind.COMMAND, UtteranceKind.AGREEMENT, UtteranceKind.HESITATION)
_ANNOTATION = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|<[^>]*>|[♪♫]+")
"""The marks of sounds without words in transcripts: "[laughs]", "(coughing)"."""
_NOT_IN_WORDS = re.compile(r"[^\w' ]+|_")
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
_ALIKE = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "-": " ", "‐": " ", "‑": " ", "–": " ", "—": " "})

Phrase = tuple[str, ...]


def kind_of(words: str) -> UtteranceKind:
    """Return the kind of an utterance by its words, in any case and punctuation; no words at all are `NOISE`."""
    spoken = _normalised(words)
    if not spoken:
        return UtteranceKind.NOISE
    found = _covering(spoken)
    if found is None:
        return UtteranceKind.OTHER
    kinds = {_phrases()[phrase] for phrase in found}
    return next(kind for kind in _PRECEDENCE if kind in kinds)


def phrases(kind: UtteranceKind) -> Iterator[str]:
    """Yield the phrases of a kind, in lower case, their words separated by one space."""
    return (" ".join(phrase) for phrase, each in _phrases().items() if each is kind)


@cache
def _phrases() -> Mapping[Phrase, UtteranceKind]:
    return {
        _normalised(phrase): UtteranceKind(row["kind"])
        for row in ENGLISH.table("utterances")
        for phrase in row["phrases"].split(",")
    }


@cache
def _longest_phrase() -> int:
    return max(map(len, _phrases()))


def _normalised(words: str) -> Phrase:
    plain = _ANNOTATION.sub(" ", words.lower().translate(_ALIKE))
    plain = _DRAWN_OUT.sub(r"\1", plain)
    return tuple(word for piece in _NOT_IN_WORDS.sub(" ", plain).split() if (word := piece.strip("'")))


def _covering(words: Phrase) -> list[Phrase] | None:
    """Return phrases of the table that cover the words in order, longest first; None if some word is not covered."""
    found: list[Phrase] = []
    at = 0
    while at < len(words):
        for length in range(min(_longest_phrase(), len(words) - at), 0, -1):
            if words[at : at + length] in _phrases():
                found.append(words[at : at + length])
                at += length
                break
        else:
            return None
    return found
