"""What callers of a session are likely to say, for recognition: words of theirs win over others that sound alike."""

from __future__ import annotations

import re
from functools import lru_cache

from backend.conversation.utterances import UtteranceKind, phrases
from local_responder.dialogue.routing import examples_in, with_names_as
from local_responder.dialogue.small_talk import SPECIALISTS
from local_responder.recognition.expected import NAME, Expectation

_ALONE = tuple(
    phrase.capitalize() + mark
    for kind in (UtteranceKind.AGREEMENT, UtteranceKind.COMMAND)
    for phrase in phrases(kind)
    for mark in ("", ".")
)
"""What is said into a reply: a murmur, or a word that ends it."""
_SMALL_TALK = tuple(text for each in SPECIALISTS for text in each.examples)
_BETWEEN = re.compile(r"\s*[\n;,]\s*")


@lru_cache(maxsize=32)
def expectation_of(instructions: str, prompt: str = "", *, over_reply: bool = False) -> Expectation:
    """Return what the specialists say of themselves in the instructions, small talk, and the names in the prompt.

    Who says one word while a reply sounds most often murmurs, or wants it to end.
    """
    told = tuple(with_names_as(NAME, text) for text in examples_in(instructions))
    names = tuple(name for name in _BETWEEN.split(prompt) if name)
    return Expectation((*told, *_SMALL_TALK, *_ALONE), names, _ALONE if over_reply else ())
