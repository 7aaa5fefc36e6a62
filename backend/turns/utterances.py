"""Short utterances: what kind of remark a few words are, told from the words alone. Pure.

While a reply plays, "yeah" agrees with it and "wait" ends it, and both last half a second: duration cannot tell them
apart, words can. `kind_of` serves every source of words: the utterance reader (`media/utterance_reader.py`), whose
grammar is made of this table, and a provider's transcript.

To teach the server a phrase, add it to `_TABLE`; nothing else is needed. An utterance has a kind when phrases of the
table cover it from its first word to its last ("yeah, okay", "no no, stop"); one word that no phrase covers makes it
`OTHER` ("okay but why"). Where phrases of several kinds meet, the one that asks for the floor wins: `OTHER`, then
`COMMAND`, `AGREEMENT`, `HESITATION`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache


class UtteranceKind(StrEnum):
    """The kinds of short utterances, told apart because a reply that is playing reacts differently to each."""

    AGREEMENT = "agreement"
    """A backchannel ("yeah", "I see", "mm-hmm"): the listener follows and wants to hear more."""
    COMMAND = "command"
    """A word that asks for the floor, or for quiet ("stop", "wait", "no", "excuse me")."""
    HESITATION = "hesitation"
    """A sound of somebody who thinks ("um", "well"): no contribution of its own."""
    NOISE = "noise"
    """No words: a cough, a laugh, a breath, a door."""
    OTHER = "other"
    """Real words that are none of these, or that are in doubt."""


_TABLE: tuple[tuple[UtteranceKind, bool, str], ...] = (
    # kind, whether it answers a question in full, the phrases: comma between them, no other punctuation
    (
        UtteranceKind.AGREEMENT,
        True,
        """
        yes, yeah, yep, yup, yea, yah, okay, ok, right, sure, sure thing, all right, alright, of course, correct,
        exactly, absolutely, definitely, certainly, indeed, totally, true, that is true, that's true, that's right,
        that is right, that's correct, yes please, please do, go ahead, go on then, please, got it, i got it, i see, i
        know, i understand, understood, i agree, agreed, fair enough, makes sense, that makes sense, sounds good, that
        sounds good, that's fine, fine, that's good, that's great, good, very good, very nice, great, perfect,
        excellent, wonderful, awesome, lovely, nice, cool, thanks, thank you, thanks a lot, thank you very much, no
        problem, no worries, i think so, i guess so, i guess, why not, uh-huh, mm-hmm, mhm, me too, you're right, you
        are right
        """,
    ),
    (
        UtteranceKind.AGREEMENT,
        False,
        """
        oh, ooh, ah, aha, aw, wow, whoa, oh wow, oh my, oh my god, my god, gosh, oh boy, really, no way, no kidding,
        you're kidding, oh dear, interesting, very interesting, that's interesting, amazing, that's amazing,
        incredible, that's nice, that's cool, how nice, how interesting, funny, that's funny, good to know, oh i see,
        haha, ha, hehe, he he, mm, huh
        """,
    ),
    (
        UtteranceKind.COMMAND,
        True,
        """
        no, nope, nah, no thanks, no thank you, stop, stop it, stop that, stop there, stop talking, stop now,
        please stop, stop please, cancel, cancel that, cancel it, never mind, nevermind, enough, that's enough,
        that is enough, that will do, forget it, forget that, forget about it, not now, don't, shut up, be quiet,
        quiet, quiet please, silence, hush
        """,
    ),
    (
        UtteranceKind.COMMAND,
        False,
        """
        wait, wait a minute, wait a second, wait a moment, wait please, please wait, hold on, hold it, hold up,
        please hold on, hold on a second, hold on a minute, hang on, hang on a second, hang on a minute, one moment,
        one moment please, one second, one sec, one minute, just a moment, just a second, just a sec, just a minute,
        just one moment, a moment, a moment please, a second, pause, excuse me, pardon, pardon me, sorry, i'm sorry,
        hey, listen, but wait, time out, slow down, stay quiet, shh, can i say something, let me speak, let me talk,
        let me finish
        """,
    ),
    (
        UtteranceKind.HESITATION,
        False,
        """
        um, uhm, umm, uh, uhh, er, err, erm, eh, hm, hmm, well, so, and, like, you know, let me see, let's see,
        let me think
        """,
    ),
    (
        UtteranceKind.OTHER,
        True,
        """
        maybe, perhaps, probably, possibly, not really, not yet, never, always, i do, i don't, i did, i didn't,
        i don't know, i do not know, i have no idea, no idea, i don't think so, i think not, i'm not sure, not sure,
        of course not, both, neither, nothing, none, nobody, everything, that's all, that is all, that's it, hello,
        hi, hi there, goodbye, bye, bye bye, good morning, good evening, good afternoon, good night, see you,
        neither of them, either, i am, it is, it's not, we do, we are, he is, she is, they are, i have, i haven't,
        i will, i won't, i can, i can't, i would
        """,
    ),
    (
        UtteranceKind.OTHER,
        False,
        """
        what, why, how, when, where, who, which, which one, what else, what time, what about, how much, how many,
        how long, how far, how come, why is that, what is it, what is that, what was that, who is it, who is that,
        where is it, when is it, tell me more, tell me, say that again, say it again, repeat that, go back, help,
        can you help me, i want, i need, i have a question, one more thing, another question
        """,
    ),
)

_PRECEDENCE = (UtteranceKind.OTHER, UtteranceKind.COMMAND, UtteranceKind.AGREEMENT, UtteranceKind.HESITATION)
_ANNOTATION = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|<[^>]*>|[♪♫]+")
"""What transcripts say of sounds that are no words: "[laughs]", "(coughing)"."""
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
    kinds = {_phrases()[phrase][0] for phrase in found}
    return next(kind for kind in _PRECEDENCE if kind in kinds)


def is_complete_answer(words: str) -> bool:
    """Return whether the words answer a question in full ("yes", "no thanks", "um, I don't know").

    Somebody who asks for a moment ("wait"), or only makes a sound ("oh", "well"), has more to say.
    """
    found = _covering(_normalised(words))
    if not found:
        return False
    kind, answers = _phrases()[found[-1]]
    if kind is UtteranceKind.AGREEMENT and not answers:  # "yes, wow"
        return any(_phrases()[phrase][1] for phrase in found)
    return answers


def phrases(kind: UtteranceKind) -> Iterator[str]:
    """Yield the phrases of a kind, in lower case, words apart by one space."""
    return (" ".join(phrase) for phrase, (each, _) in _phrases().items() if each is kind)


@cache
def _phrases() -> Mapping[Phrase, tuple[UtteranceKind, bool]]:
    return {_normalised(phrase): (kind, answers) for kind, answers, listed in _TABLE for phrase in listed.split(",")}


@cache
def _longest_phrase() -> int:
    return max(map(len, _phrases()))


def _normalised(words: str) -> Phrase:
    plain = _ANNOTATION.sub(" ", words.lower().translate(_ALIKE))
    plain = _DRAWN_OUT.sub(r"\1", plain)
    return tuple(word for piece in _NOT_IN_WORDS.sub(" ", plain).split() if (word := piece.strip("'")))


def _covering(words: Phrase) -> list[Phrase] | None:
    """Return phrases of the table that are these words in order, the longest first; None: there are none."""
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
