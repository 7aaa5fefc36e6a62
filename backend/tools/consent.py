"""This module judges whether an utterance agrees to the act that the user was asked about. Pure, and strict.

The whole utterance must consist of words of agreement, words of courtesy, and words that name the act. Anything else (a
condition, a doubt, a change, a question) is no agreement. The user is then asked again, which costs a sentence; an
unwanted act can cost more.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

UTTERANCE_LIMIT = 200
"""The most characters of an agreement; a longer utterance says something else as well."""


def _listed(text: str) -> frozenset[str]:
    """Return the words and phrases of a text that separates them by commas."""
    return frozenset(" ".join(each.split()) for each in text.split(","))


AGREEMENT = _listed("""
yes, y, yeah, yep, yup, ok, okay, sure, certainly, absolutely, definitely, affirmative, agreed, approved,
confirmed, confirm, correct, alright, fine, gladly, of course, all right, go ahead, go on, go for it, do it,
do that, do so, do this, please do, sounds good, that is fine, that's fine, that is right, that's right,
that is correct, that's correct, i agree, i confirm, i do, i approve, yes i do, you may, ja, ja gerne,
ja bitte, oui, d'accord, sí, si, sì, sim, da, hai, tak, evet, vale, claro, certo, はい, 是的, 好的, да, 👍, ✅
""")
"""Words that agree."""
COURTESY = _listed("please, thanks, thank you, now, then, and, well, so, bitte, merci, gracias")
"""Words that neither agree nor refuse."""
NAMING = _listed("the, a, an, it, that, this, to, of, on, in, for, with, as, my, number")
"""Words that may stand beside those that name the act."""
REFUSAL = _listed("""
no, not, nope, nah, never, don't, dont, do not, stop, wait, cancel, but, instead, except, unless, if, only,
later, rather, without, nothing, nobody, none, nein, non, isn't, won't, can't, cannot, shouldn't, wouldn't,
maybe, perhaps, why, what, how
""")
"""Words that no agreement contains, even if they are part of the text that would be posted."""
_LONGEST = 3


def is_affirmative(utterance: str, act: frozenset[str] = frozenset()) -> bool:
    """Return whether the whole utterance agrees. `act` are the words that name the act (`words_of`)."""
    text = unicodedata.normalize("NFC", utterance).casefold().replace("’", "'").strip()
    # A long or questioning utterance says more than yes.
    if not text or len(text) > UTTERANCE_LIMIT or "?" in text or "？" in text:
        return False
    words = re.findall(r"[\w']+|[👍✅]", text)
    if not words or REFUSAL & {*words, *_phrases(words, 2)}:
        return False
    agreed, at = False, 0
    while at < len(words):
        length = next((n for n in range(_LONGEST, 0, -1) if _known(words[at : at + n], n, act)), 0)
        if not length:
            return False
        agreed = agreed or " ".join(words[at : at + length]) in AGREEMENT
        at += length
    return agreed


def words_of(tool: str, arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the words that name a call: those of the tool's name and of its arguments' values."""
    text = " ".join((tool, *map(str, _values(arguments)))).casefold().replace("’", "'")
    return frozenset(re.findall(r"[^\W_]+(?:'[^\W_]+)*", text))


def canonical(arguments: Mapping[str, Any]) -> str:
    """Return arguments as canonical JSON, which is the same for the same act."""
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)


def _known(words: list[str], length: int, act: frozenset[str]) -> bool:
    phrase = " ".join(words)
    if len(words) < length:
        return False
    # Words that name the act count only one by one, since phrases may hide a condition.
    return phrase in AGREEMENT or phrase in COURTESY or (length == 1 and (phrase in act or phrase in NAMING))


def _phrases(words: list[str], length: int) -> Iterator[str]:
    return (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _values(part)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _values(part)
    elif value is not None and value != "":
        yield value
